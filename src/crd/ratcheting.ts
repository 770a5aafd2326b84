/**
 * Ratcheting: an update may keep an invalid value that it does not touch (upstream's CRDValidationRatcheting).
 * A part that equals its old counterpart is not validated again.
 */

import type { FieldError } from '#api/field-error.js'
import { isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

interface Objects {
  readonly next: JsonValue
  readonly previous: JsonValue
  readonly schema: StructuralSchema
  /** Of a whole object, whose metadata is not looked at here: an update of that alone changes the object, too. */
  readonly isMetadataUnchanged: boolean
}

/** The old counterpart of an item: by its keys in a list of type map, else there is none to compare with. */
const oldItem = (
  item: JsonValue | undefined,
  old: readonly JsonValue[],
  list: StructuralSchema | undefined,
): JsonValue | undefined => {
  const keys = list?.['x-kubernetes-list-map-keys'] ?? []
  return list?.['x-kubernetes-list-type'] === 'map' && isJsonObject(item)
    ? old.find((o) => isJsonObject(o) && keys.every((key) => jsonEqual(o[key], item[key])))
    : undefined
}

/** Whether the value at a path such as `spec.l[0].k`, or what it is in, is as it was. `known` keeps answers by path. */
const isUnchanged = (path: string, objects: Objects, known: Map<string, boolean>): boolean => {
  let now: JsonValue | undefined = objects.next
  let old: JsonValue | undefined = objects.previous
  let at: StructuralSchema | undefined = objects.schema
  let walked = ''
  const isSame = (): boolean => {
    const same = known.get(walked) ?? jsonEqual(now!, old!)
    known.set(walked, same)
    return same
  }
  if (objects.isMetadataUnchanged && isSame()) return true
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    if (Array.isArray(now) && Array.isArray(old)) {
      now = now[Number(part)]
      old = oldItem(now, old, at)
      at = at?.items
    } else if (isJsonObject(now) && isJsonObject(old)) {
      now = now[part]
      old = old[part]
      at = at && (at.properties?.[part] ?? valueSchemaOf(at))
    } else return false
    if (now === undefined || old === undefined) return false
    walked += `/${part}`
    if (isSame()) return true
  }
  return false
}

/** Keeps the errors of what has changed. Errors without a field of their own are kept. */
export const onlyChanged = (errors: readonly FieldError[], objects: Objects): FieldError[] => {
  const known = new Map<string, boolean>()
  return errors.filter((error) => {
    if (error.field === '<nil>') return true
    // A missing field is a property of the object that lacks it.
    const path =
      error.type === 'FieldValueRequired' ? error.field.replace(/\.?[^.]*$/, '') : error.field
    return !isUnchanged(path, objects, known)
  })
}
