/** Annotations that are integer fields of upstream's internal types: they are read, and written anew from what was read. */
import { cannotBeHandled } from '#api/errors.js'
import { goQuote } from '#api/go-quote.js'

const int64Bits = 64

const parse = (text: string): { value: bigint } | { problem: string } => {
  if (!/^[+-]?\d+$/.test(text)) return { problem: 'invalid syntax' }
  const value = BigInt(text.replace('+', ''))
  return value === BigInt.asIntN(int64Bits, value) ? { value } : { problem: 'value out of range' }
}

/** As strconv.ParseInt reads it. Throws 400 for what it refuses; `prefix` comes before its words. */
export const readInteger = (kind: string, text: string, prefix = ''): bigint => {
  const read = parse(text)
  if ('value' in read) return read.value
  throw cannotBeHandled(
    { version: 'v1', kind },
    `${prefix}strconv.ParseInt: parsing ${goQuote(text)}: ${read.problem}`,
  )
}
