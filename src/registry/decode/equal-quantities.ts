/** Quantities of the same value in two forms, such as `1Gi` and `1073741824`: upstream compares their values. */
import { compareQuantityTexts } from '#api/quantity.js'
import { setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { fieldsHolding, type GoField, type GoType, isQuantity } from './go-type.js'

const quantityFieldsOf = fieldsHolding(isQuantity)

const written = (type: GoType, value: JsonValue, other: JsonValue): JsonValue => {
  if (value === other || value === null || other === null) return value
  if (typeof value === 'string')
    return isQuantity(type) && typeof other === 'string' && compareQuantityTexts(value, other) === 0
      ? other
      : value
  if (typeof value !== 'object' || typeof other !== 'object') return value
  if (type.form === 'slice') return writtenItems(type.item, value as JsonValue[], other)
  const [object, as] = [value as JsonObject, other as JsonObject]
  if (type.form === 'struct') return quantitiesWrittenAs(type.key, object, as)
  if (type.form !== 'map') return value
  const entries = Object.keys(object).map((name) => ({ name, type: type.value }))
  return writtenFields(entries, object, as)
}

const writtenItems = (item: GoType, list: JsonValue[], other: JsonValue): JsonValue[] => {
  if (!Array.isArray(other)) return list
  const items = list.map((value, at) =>
    at < other.length ? written(item, value, other[at]!) : value,
  )
  return items.some((value, at) => value !== list[at]) ? items : list
}

const writtenFields = (
  fields: readonly Pick<GoField, 'name' | 'type'>[],
  object: JsonObject,
  other: JsonObject,
): JsonObject => {
  let copy = object
  for (const { name, type } of fields) {
    if (!Object.hasOwn(object, name) || !Object.hasOwn(other, name)) continue
    const value = written(type, object[name]!, other[name]!)
    if (value === object[name]) continue
    if (copy === object) copy = { ...object }
    setOwn(copy, name, value)
  }
  return copy
}

/**
 * The object with the quantities that are equal to those of the other one written as they are written there, so that
 * whoever compares the two finds no change; the object itself where there are none, which is nearly always.
 */
export const quantitiesWrittenAs = <T extends JsonObject>(struct: string, object: T, other: T): T =>
  writtenFields(quantityFieldsOf(struct), object, other) as T
