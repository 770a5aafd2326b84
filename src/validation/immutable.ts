/** Fields that an update may not change. */
import { type FieldError, invalid } from '#api/field-error.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'

/** Equal as upstream compares: nothing, null and an empty list or map are one. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  const plain = (value: unknown): JsonValue | undefined => {
    if (value === null || value === undefined) return undefined
    if (typeof value === 'object' && Object.keys(value).length === 0) return undefined
    return value as JsonValue
  }
  return jsonEqual(plain(a), plain(b))
}

export const immutableMessage = 'field is immutable'
export const immutable = (path: string, next: unknown, previous: unknown): FieldError[] =>
  sameJson(next, previous) ? [] : [invalid(path, next ?? null, immutableMessage)]
