/** Fields that an update may not change. */
import { type FieldError, invalid } from '#api/field-error.js'
import { isJsonObject, semanticEqual } from '#json/object.js'
import { sameRaw } from '#registry/decode/raw-fields.js'
import { internalForm } from './internal-form.js'

/** Equal as upstream compares fields; an empty map is nothing, too. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  const plain = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && Object.keys(value).length === 0
      ? undefined
      : value
  return semanticEqual(plain(a), plain(b))
}

const isNil = (value: unknown): boolean => value === undefined || value === null

/** Pointers to structs: one to a struct of nothing is not nil. */
export const samePointer = (a: unknown, b: unknown): boolean =>
  isNil(a) === isNil(b) && sameJson(a, b)

export const immutableMessage = 'field is immutable'
/** `type` is that of the field, if upstream prints its internal form. */
export const immutable = (
  path: string,
  next: unknown,
  previous: unknown,
  type?: string,
): FieldError[] =>
  sameJson(next, previous) && hasSameRaw(next, previous, type) ? [] : changed(path, next, type)

const hasSameRaw = (next: unknown, previous: unknown, type: string | undefined): boolean =>
  type === undefined ||
  !isJsonObject(next) ||
  !isJsonObject(previous) ||
  sameRaw(type, next, previous)

export const immutablePointer: typeof immutable = (path, next, previous, type) =>
  samePointer(next, previous) ? [] : changed(path, next, type)

const changed = (path: string, next: unknown, type: string | undefined): FieldError[] => {
  const isPart = type !== undefined && typeof next === 'object' && next !== null
  return [invalid(path, isPart ? internalForm(type, next) : (next ?? null), immutableMessage)]
}
