import { goQuote } from '#go/quote.js'

/** Go's int64 where doubles are: whole, and a BigInt where a double would not be exact (see json.ts). */
export type Int64 = number | bigint

export const int64Of = (value: bigint): Int64 => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The ends of Go's int64 and uint64. */
export const int64Min = -(2n ** 63n)
export const int64Max = 2n ** 63n - 1n
export const uint64Max = 2n ** 64n - 1n

const decimal = /^[+-]?\d+$/
/** Beyond any int64. To make a BigInt of three million digits takes a second. */
const ofTooManyDigits = /[1-9]\d{19}/

/** strconv.ParseInt; undefined for what is no int64. */
export const parseInt64 = (text: string): bigint | undefined => {
  if (!decimal.test(text) || ofTooManyDigits.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** What Go's strconv says of a text that is no int64. */
export const parseIntMessage = (text: string, by: 'ParseInt' | 'Atoi' = 'ParseInt'): string =>
  `strconv.${by}: parsing ${goQuote(text)}: ${
    decimal.test(text) ? 'value out of range' : 'invalid syntax'
  }`

/** A number as Go's maps hold it where no type is known: a float if it is beyond an int64. */
export const goNumber = (value: Int64): Int64 =>
  typeof value === 'bigint' && BigInt.asIntN(64, value) !== value ? Number(value) : value
