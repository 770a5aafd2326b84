/** Plain JSON objects whose keys come from clients: `__proto__` is a key like any other. */
import { keepGivenEmpty } from './given-empty.js'
import type { JsonObject, JsonValue } from './value.js'

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `object[key] = value`, also for `__proto__`, which an assignment would take for the prototype. */
export const setOwn = (object: JsonObject, key: string, value: JsonValue): void => {
  if (key === '__proto__') {
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  } else object[key] = value
}

/** In place, for who holds on to the object: it has the fields of `next` and no others, in the order of `next`. */
export const replaceFields = (object: object, next: object): void => {
  const [held, fields] = [object as JsonObject, Object.entries(next as JsonObject)]
  for (const key of Object.keys(held)) delete held[key]
  for (const [key, value] of fields) setOwn(held, key, value!)
}

/** `object[key]` that does not find what the prototype has. */
export const getOwn = <T>(
  object: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined)

export const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

/** How many keys there are, without a list of them. */
export const lengthOf = (object: JsonObject): number => {
  let length = 0
  for (const _key in object) length++
  return length
}

/**
 * Structural equality of JSON values; the order of keys does not count, and an int64 equals its other form. Every write
 * comes through here many times, so that no list of keys is made.
 */
export const jsonEqual = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  // biome-ignore lint/suspicious/noDoubleEquals: 1n == 1 is what is asked here.
  if (typeof a === 'bigint' || typeof b === 'bigint') return isNumber(a) && isNumber(b) && a == b
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!jsonEqual(a[i], b[i])) return false
    return true
  }
  if (!isJsonObject(a) || !isJsonObject(b))
    // Two texts as they were written (as-written.ts).
    return typeof a === 'symbol' && typeof b === 'symbol' && a.description === b.description
  if (lengthOf(a) !== lengthOf(b)) return false
  for (const key in a) if (!Object.hasOwn(b, key) || !jsonEqual(a[key], b[key])) return false
  return true
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

/**
 * Equality as upstream's semantic one: what is missing, null and an empty list are one, at every depth. Compares in place:
 * every update of every Pod comes through here.
 */
export const semanticEqual = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b)
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!semanticEqual(a[i], b[i])) return false
    return true
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return jsonEqual(a, b)
  for (const key in a) if (!semanticEqual(a[key], getOwn(b, key))) return false
  for (const key in b) if (!Object.hasOwn(a, key) && !isNothing(b[key])) return false
  return true
}

/** A copy with the keys of all objects sorted. */
export const withKeysInOrder = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(withKeysInOrder)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value).sort()) setOwn(copy, key, withKeysInOrder(value[key]!))
  return copy
}

/** Equal values give equal texts; undefined fields are left out. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(withKeysInOrder(value as JsonValue))

/** A deep copy of JSON, an object of the API included; it shares nothing. */
export const cloneJson = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map(cloneJson) as T
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) setOwn(copy, key, cloneJson(value[key]!))
  keepGivenEmpty(copy, value)
  return copy as T
}
