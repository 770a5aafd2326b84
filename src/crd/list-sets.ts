/** Lists of type set and map: no item is there twice (apiextensions, schema/listtype). */
import { child, duplicate, type FieldError, invalid } from '#api/field-error.js'
import { pushAll } from '#collections/push-all.js'
import { stringify } from '#json/json.js'
import { getOwn, isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { isWholeFloat } from '#registry/decode/whole-floats.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/**
 * Lists of type set and map hold no item twice; upstream looks after the schema is met, in a walk of its own.
 */
export const validateListSets = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  if (Array.isArray(value)) {
    const errors = foreignItem(value, schema, path) ?? duplicatesIn(value, schema, path)
    const { items } = schema
    if (items !== undefined)
      value.forEach((item, i) => {
        pushAll(errors, validateListSets(item, items, `${path}[${i}]`))
      })
    return errors
  }
  if (!isJsonObject(value)) return []
  const valueSchema = valueSchemaOf(schema)
  return Object.keys(value).flatMap((key) => {
    const property = getOwn(schema.properties, key)
    if (property !== undefined) return validateListSets(value[key]!, property, child(path, key))
    return valueSchema === undefined
      ? []
      : validateListSets(value[key]!, valueSchema, `${path}[${key}]`)
  })
}

/** The first item of a map that cannot have keys; nothing else is reported of such a list. */
const foreignItem = (
  list: readonly JsonValue[],
  schema: StructuralSchema,
  path: string,
): FieldError[] | undefined => {
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined
  const i = list.findIndex((item) => item !== null && !isJsonObject(item))
  const why = 'must be an object for an array of list-type map'
  return i < 0 ? undefined : [invalid(`${path}[${i}]`, list[i], why)]
}

const duplicatesIn = (
  list: readonly JsonValue[],
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const listType = schema['x-kubernetes-list-type']
  if (listType !== 'set' && listType !== 'map') return []
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const times = new Map<string, number>()
  return list.flatMap((item, i) => {
    const identity =
      listType === 'set'
        ? item
        : Object.fromEntries(
            [...keys]
              .sort()
              .flatMap((k) =>
                isJsonObject(item) && Object.hasOwn(item, k) ? [[k, item[k]!]] : [],
              ),
          )
    // To Go 1.0 is another number than 1, where it is not inside of something that is compared by its JSON.
    const isFloat =
      listType === 'set'
        ? isWholeFloat(list, i)
        : keys.length === 1 && isJsonObject(item) && isWholeFloat(item, keys[0]!)
    const text = `${stringify(withKeysInOrder(identity))}${isFloat ? '.0' : ''}`
    const seen = times.get(text) ?? 0
    times.set(text, seen + 1)
    // Only the second occurrence is reported.
    return seen === 1 ? [duplicate(`${path}[${i}]`, identity)] : []
  })
}
