/** resourceVersion in the API is a string, inside of storage a number. */
import { goQuote } from '#api/go-quote.js'

/** Undefined for what is no unsigned integer; 0 for the empty string. */
export const parseResourceVersion = (text: string): number | undefined => {
  if (text === '') return 0
  if (!/^[0-9]+$/.test(text)) return undefined
  const revision = Number(text)
  return Number.isSafeInteger(revision) ? revision : undefined
}

/** What Go's strconv says of a text that is no uint64. */
export const parseUintMessage = (text: string): string =>
  `strconv.ParseUint: parsing ${goQuote(text)}: ${
    /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax'
  }`
