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

/** As long as the longest: of a text of a hundred thousand digits a number is not made in vain. */
const int64 = /^(?:\+|(-))?0*(0|[1-9]\d{0,18})$/

/** strconv.ParseInt; undefined for what is no int64. */
export const parseInt64 = (text: string): bigint | undefined => {
  const found = int64.exec(text)
  if (found === null) return undefined
  const value = BigInt(`${found[1] ?? ''}${found[2]}`)
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
