/**
 * Ratcheting: an update may keep an invalid value that it does not touch (upstream's CRDValidationRatcheting).
 * A part that equals its old counterpart is not validated again.
 */

import type { FieldError } from '#api/field-error.js'
import { isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/** The value at a path such as `spec.l[0].k`; undefined when there is none. */
const valueAt = (root: JsonValue, path: string): JsonValue | undefined => {
  let value: JsonValue | undefined = root
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    if (Array.isArray(value)) value = value[Number(part)]
    else if (isJsonObject(value)) value = value[part]
    else return undefined
  }
  return value
}

/** The old counterpart of an item: by its keys in a list of type map, else there is none to compare with. */
const oldValueAt = (
  path: string,
  { next, previous, schema }: { next: JsonValue; previous: JsonValue; schema: StructuralSchema },
): JsonValue | undefined => {
  let [now, old]: [JsonValue | undefined, JsonValue | undefined] = [next, previous]
  let at: StructuralSchema | undefined = schema
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    if (Array.isArray(now) && Array.isArray(old)) {
      const item: JsonValue | undefined = now[Number(part)]
      const keys = at?.['x-kubernetes-list-map-keys'] ?? []
      old =
        at?.['x-kubernetes-list-type'] === 'map' && isJsonObject(item)
          ? old.find((o) => isJsonObject(o) && keys.every((k) => jsonEqual(o[k], item[k])))
          : undefined
      now = item
      at = at?.items
    } else if (isJsonObject(now) && isJsonObject(old)) {
      now = now[part]
      old = old[part]
      at = at && (at.properties?.[part] ?? valueSchemaOf(at))
    } else return undefined
  }
  return old
}

/** Keeps the errors of what has changed. Errors without a field of their own are kept. */
export const onlyChanged = (
  errors: readonly FieldError[],
  objects: { next: JsonValue; previous: JsonValue; schema: StructuralSchema },
): FieldError[] =>
  errors.filter((error) => {
    if (error.field === '<nil>') return true
    // A missing field is a property of the object that lacks it.
    const path =
      error.type === 'FieldValueRequired' ? error.field.replace(/\.?[^.]*$/, '') : error.field
    const old = oldValueAt(path, objects)
    return old === undefined || !jsonEqual(valueAt(objects.next, path), old)
  })
