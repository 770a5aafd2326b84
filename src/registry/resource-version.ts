/** resourceVersion is a string in the API and a number in storage. */

import { goQuote } from '#go/quote.js'
import { uint64Max } from '#json/int64.js'

/**
 * Undefined for a text that is not a uint64; 0 for the empty string. Not exact beyond 2^53, where there are no revisions.
 */
export const parseResourceVersion = (text: string): number | undefined => {
  if (text === '') return 0
  if (!/^[0-9]+$/.test(text)) return undefined
  const revision = Number(text)
  return Number.isSafeInteger(revision) || BigInt(text) <= uint64Max ? revision : undefined
}

/** The message of Go's strconv for a text that is not a uint64. */
export const parseUintMessage = (text: string): string =>
  `strconv.ParseUint: parsing ${goQuote(text)}: ${
    /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax'
  }`
