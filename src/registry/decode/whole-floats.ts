/**
 * Floats of unstructured JSON that are whole (`1.0`): they are stored as integers and come back as such, so that until
 * then Go takes what was sent for another value than the stored one.
 */
import type { JsonValue } from '#json/value.js'

const marked = new WeakMap<object, Set<string | number>>()

/** Beyond an int64 a whole number stays a float. */
const int64Bound = 2 ** 63

/** Remembers that the value was written as a float, if it is one that will be read as an integer. */
export const noteFloat = (
  container: object,
  key: string | number,
  value: JsonValue,
  literal: string | undefined,
): void => {
  if (literal === undefined || !/[.eE]/.test(literal) || !Number.isInteger(value)) return
  if (Math.abs(value as number) >= int64Bound) return
  const keys = marked.get(container) ?? new Set()
  marked.set(container, keys.add(key))
}

/** Whether the value at the key is such a float. */
export const isWholeFloat = (container: object, key: string | number): boolean =>
  marked.get(container)?.has(key) === true

/** Whether such a float is still in the value: what was pruned is gone. */
export const holdsWholeFloat = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  for (const key of marked.get(value) ?? []) if (Object.hasOwn(value, key)) return true
  return Object.values(value).some(holdsWholeFloat)
}
