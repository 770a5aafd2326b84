/** Fields that an update may not change. */
import { type FieldError, invalid } from '#api/field-error.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { internalForm } from './internal-form.js'

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
/** `type` is that of the field, if upstream prints its internal form. */
export const immutable = (
  path: string,
  next: unknown,
  previous: unknown,
  type?: string,
): FieldError[] => {
  if (sameJson(next, previous)) return []
  const isPart = type !== undefined && typeof next === 'object' && next !== null
  return [invalid(path, isPart ? internalForm(type, next) : (next ?? null), immutableMessage)]
}
