/** Quantities of the same value in two forms, such as `1Gi` and `1073741824`: upstream compares their values. */
import { compareQuantityTexts } from '#api/quantity.js'
import { oncePer } from '#async/once.js'
import { setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type GoType, goFieldsOf } from './go-type.js'

const isQuantity = (type: GoType): boolean => type.form === 'custom' && type.custom === 'Quantity'

const holdsQuantityIn = (type: GoType, seen: Set<string>): boolean => {
  if (type.form === 'slice') return holdsQuantityIn(type.item, seen)
  if (type.form === 'map') return holdsQuantityIn(type.value, seen)
  if (type.form !== 'struct' || seen.has(type.key)) return isQuantity(type)
  seen.add(type.key)
  return goFieldsOf(type.key).some((field) => holdsQuantityIn(field.type, seen))
}

/** The fields of a struct that are quantities or have some in them. */
const fieldsWithQuantities = oncePer((key) => {
  const fields = goFieldsOf(key).filter(({ type }) => holdsQuantityIn(type, new Set([key])))
  return { names: fields.map(({ name }) => name), types: fields.map(({ type }) => type) }
})

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
  return type.form === 'map'
    ? writtenFields(Object.keys(object), () => type.value, object, as)
    : value
}

const writtenItems = (item: GoType, list: JsonValue[], other: JsonValue): JsonValue[] => {
  if (!Array.isArray(other)) return list
  const items = list.map((value, at) =>
    at < other.length ? written(item, value, other[at]!) : value,
  )
  return items.some((value, at) => value !== list[at]) ? items : list
}

const writtenFields = (
  names: readonly string[],
  typeOf: (at: number) => GoType,
  object: JsonObject,
  other: JsonObject,
): JsonObject => {
  let copy = object
  for (const [at, name] of names.entries()) {
    if (!Object.hasOwn(object, name) || !Object.hasOwn(other, name)) continue
    const value = written(typeOf(at), object[name]!, other[name]!)
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
export const quantitiesWrittenAs = <T extends JsonObject>(
  struct: string,
  object: T,
  other: T,
): T => {
  const { names, types } = fieldsWithQuantities(struct)
  return writtenFields(names, (at) => types[at]!, object, other) as T
}
