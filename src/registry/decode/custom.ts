/** The types that read their own JSON: what they make of a value, and why they refuse one. */

import { parseQuantity, QuantityError } from '#api/quantity.js'
import { zeroTime } from '#go/zero-time.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { CustomType } from './go-type.js'
import { canonicalTime, timeProblem } from './times.js'

/** The value in its canonical form, undefined when it is refused. `literal`: a number as it was written. */
type ReadCustom = (value: JsonValue, literal?: string) => JsonValue | undefined

/** The zero time is none, to Go: it is written as null. */
const readTime = (isMicro: boolean): ReadCustom => {
  const zero = isMicro ? zeroTime.replace('Z', '.000000Z') : zeroTime
  return (value) => {
    const time = typeof value === 'string' ? canonicalTime(value, isMicro) : undefined
    return time === zero ? null : time
  }
}

const readQuantity: ReadCustom = (value, literal) => {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    return undefined
  try {
    return parseQuantity(literal ?? String(value)).text
  } catch (error) {
    if (error instanceof QuantityError) return undefined
    throw error
  }
}

const int32Max = 2 ** 31 - 1
const int32Min = -(2 ** 31)
export const isUint8 = (value: JsonValue): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 256

export const isInt32 = (value: JsonValue): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= int32Min && value <= int32Max

const raw: ReadCustom = (value) => value

export const readCustom: Readonly<Record<CustomType, ReadCustom>> = {
  Time: readTime(false),
  MicroTime: readTime(true),
  Quantity: readQuantity,
  IntOrString: (value) => (typeof value === 'string' || isInt32(value) ? value : undefined),
  Raw: raw,
  // Upstream's readers of these two take anything, and keep what they know.
  SchemaOrArray: (value) => (isJsonObject(value) || Array.isArray(value) ? value : null),
  SchemaOrBool: (value) => (isJsonObject(value) || typeof value === 'boolean' ? value : undefined),
  SchemaOrStringArray: (value) => (isJsonObject(value) || Array.isArray(value) ? value : null),
}

/** What Go writes for the zero value of the type. */
export const zeroCustom: Readonly<Record<CustomType, JsonValue>> = {
  Time: null,
  MicroTime: null,
  Quantity: '0',
  IntOrString: 0,
  Raw: null,
  SchemaOrArray: null,
  SchemaOrBool: false,
  SchemaOrStringArray: null,
}

const quantityProblem = (text: string): string => {
  try {
    parseQuantity(text)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

/** Upstream's text for a refused value; undefined when the value has the wrong JSON type for `expected`. */
export const customProblem = (
  custom: CustomType,
  value: JsonValue,
): { text: string } | { expected: string } => {
  if (custom === 'Quantity')
    return { text: quantityProblem(typeof value === 'string' ? value : '{') }
  if (custom === 'IntOrString') return { expected: 'int32' }
  if (custom === 'SchemaOrBool') return { text: 'boolean or JSON schema expected' }
  if (typeof value !== 'string') return { expected: 'string' }
  return { text: timeProblem(value, custom === 'MicroTime') }
}
