/** Which types hold JSON that Go keeps as it was written (RawExtension): it is compared by its text, order of keys included. */
import { stringify } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { fieldsHolding, type GoType, isWrittenAsGiven } from './go-type.js'

const rawFieldsOf = fieldsHolding(isWrittenAsGiven)

/** Objects of that schema; of none, a custom kind's, nothing is kept so. */
export const holdsRaw = (schemaName: string | undefined): boolean =>
  schemaName !== undefined && rawFieldsOf(goTypeName(schemaName)).length > 0

const sameIn = (type: GoType, a: JsonValue | undefined, b: JsonValue | undefined): boolean => {
  if (a === b) return true
  if (isWrittenAsGiven(type)) return stringify(a) === stringify(b)
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return true
  if (type.form === 'slice')
    return (a as JsonValue[]).every((item, at) => sameIn(type.item, item, (b as JsonValue[])[at]))
  const [one, other] = [a as JsonObject, b as JsonObject]
  if (type.form === 'map')
    return Object.keys(one).every((key) => sameIn(type.value, one[key], other[key]))
  return type.form !== 'struct' || sameRaw(type.key, one, other)
}

/** Whether two values of a struct of go-fields.json that are equal have the same raw JSON, too. */
export const sameRaw = (key: string, a: JsonObject, b: JsonObject): boolean =>
  rawFieldsOf(key).every(({ name, type }) => sameIn(type, a[name], b[name]))
