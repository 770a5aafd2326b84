/**
 * Objects are the JSON that Go writes: fields in the order of their struct, maps in that of their keys. The decoder makes
 * them so; what defaults, strategies and admission have put behind the others since is moved to its place here.
 */

import type { KubeObject, ObjectMeta } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import { sortedKeys } from '#json/entries.js'
import { isJsonObject, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { compiledStructs } from '../compiled-structs.js'
import { type GoType, goFieldsOf } from './go-type.js'

/** Yields the same value if everything in it is in its place. The given value may be shared and is not changed. */
type Arrange = (value: JsonValue) => JsonValue
/** The fields that `stays` names are left as they are. */
type ArrangeFields = (value: JsonValue, stays?: (field: string) => boolean) => JsonValue

const inKeyOrder = (object: JsonObject): JsonObject => {
  const result: JsonObject = {}
  for (const key of sortedKeys(object)) setOwn(result, key, object[key]!)
  return result
}

/** Fields that the Go struct does not have stay behind the others. */
const inFieldOrder = (object: JsonObject, places: ReadonlyMap<string, number>): JsonObject => {
  const result: JsonObject = {}
  for (const name of places.keys()) if (Object.hasOwn(object, name)) result[name] = object[name]!
  for (const name in object) if (!places.has(name)) setOwn(result, name, object[name]!)
  return result
}

const arrangeSlice =
  (arrange: Arrange): Arrange =>
  (value) => {
    if (!Array.isArray(value)) return value
    let arranged = value
    for (let at = 0; at < value.length; at++) {
      const item = arrange(value[at]!)
      if (item === value[at]) continue
      if (arranged === value) arranged = [...value]
      arranged[at] = item
    }
    return arranged
  }

const arrangeMap =
  (arrange: Arrange | undefined): Arrange =>
  (value) => {
    if (!isJsonObject(value)) return value
    let arranged = value
    let before = ''
    let isSorted = true
    for (const key in value) {
      if (key < before) isSorted = false
      before = key
      if (arrange === undefined) continue
      const part = arrange(value[key]!)
      if (part === value[key]) continue
      if (arranged === value) arranged = copyWith(value)
      arranged[key] = part
    }
    return isSorted ? arranged : inKeyOrder(arranged)
  }

const arrangeStruct = (key: string): ArrangeFields => {
  const fields = goFieldsOf(key)
  const places = new Map(fields.map(({ name }, at) => [name, at]))
  const placeOf = (name: string): number => places.get(name) ?? fields.length
  const arrangers = fields.map(({ type }) => arrangerOf(type))
  return (value, stays) => {
    if (!isJsonObject(value)) return value
    let arranged = value
    let before = -1
    let isInOrder = true
    for (const name in value) {
      const at = placeOf(name)
      if (at < before) isInOrder = false
      before = at
      const arrange = arrangers[at]
      if (arrange === undefined || stays?.(name) === true) continue
      const placed = arrange(value[name]!)
      if (placed === value[name]) continue
      if (arranged === value) arranged = copyWith(value)
      arranged[name] = placed
    }
    return isInOrder ? arranged : inFieldOrder(arranged, places)
  }
}

const structArranger = compiledStructs(arrangeStruct)

const arrangerOf = (type: GoType): Arrange | undefined => {
  switch (type.form) {
    case 'struct': {
      const arrange = structArranger(type.key)
      return (value) => arrange(value, undefined)
    }
    case 'map':
      return arrangeMap(arrangerOf(type.value))
    case 'slice': {
      const arrange = arrangerOf(type.item)
      return arrange && arrangeSlice(arrange)
    }
    default:
      return undefined
  }
}

const arrangeTexts = arrangeMap(undefined)

/** The order of the metadata's own fields is the encoder's: what was read has its resourceVersion last. */
const arrangeMapsOf = (metadata: ObjectMeta): void => {
  for (const field of ['labels', 'annotations'] as const) {
    const arranged = arrangeTexts(metadata[field] ?? null) as Record<string, string> | null
    // What is stored has its order, and may not be written into.
    if (arranged !== null && arranged !== metadata[field]) metadata[field] = arranged
  }
}

/**
 * An object as Go writes it, the maps of its metadata in place; `key` names its struct in openapi/data/go-fields.json. The
 * same object when no field has to move. What it shares with `stored` has its order already.
 */
export const inGoOrder = (key: string, object: KubeObject, stored?: KubeObject): KubeObject => {
  arrangeMapsOf(object.metadata)
  return structArranger(key)(
    object,
    (field) => field === 'metadata' || (stored !== undefined && object[field] === stored[field]),
  ) as KubeObject
}
