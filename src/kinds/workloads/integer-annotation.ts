/** Annotations that are integer fields of upstream's internal types: they are read, and written anew from what was read. */
import { cannotBeHandled } from '#api/errors.js'
import { parseInt64, parseIntMessage } from '#json/int64.js'

/** Throws 400 for what is no int64; `prefix` comes before the words of Go's strconv. */
export const readInteger = (kind: string, text: string, prefix = ''): bigint => {
  const value = parseInt64(text)
  if (value === undefined)
    throw cannotBeHandled({ version: 'v1', kind }, `${prefix}${parseIntMessage(text)}`)
  return value
}
