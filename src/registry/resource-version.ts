/** resourceVersion in the API is a string, inside of storage a number. */
import { goQuote } from '#api/go-quote.js'

const uint64Max = 2n ** 64n - 1n

/** Undefined for what is no uint64; 0 for the empty string. Beyond 2^53, where no revision is, the result is only near. */
export const parseResourceVersion = (text: string): number | undefined => {
  if (text === '') return 0
  if (!/^[0-9]+$/.test(text)) return undefined
  const revision = Number(text)
  return Number.isSafeInteger(revision) || BigInt(text) <= uint64Max ? revision : undefined
}

/** What Go's strconv says of a text that is no uint64. */
export const parseUintMessage = (text: string): string =>
  `strconv.ParseUint: parsing ${goQuote(text)}: ${
    /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax'
  }`
