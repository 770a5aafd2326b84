/** Fields that an update may not change. */
import { type FieldError, invalid } from '#api/field-error.js'
import { semanticEqual } from '#api/json-object.js'
import { internalForm } from './internal-form.js'

/** Equal as upstream compares fields; an empty map is nothing, too. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  const plain = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && Object.keys(value).length === 0
      ? undefined
      : value
  return semanticEqual(plain(a), plain(b))
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
