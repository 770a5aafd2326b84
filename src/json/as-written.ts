/**
 * JSON in which a scalar remembers its text where Go's encoder would write another: `1.0`, `1e3`, `"\\u00e4"`. Upstream's
 * patch libraries pass on, compare and print the values of a patch as they are written, and the decoder sees them so.
 *
 * Such a scalar is a symbol whose description is its text: merges treat it as one opaque value, and no value of a client
 * can be mistaken for it. It is never stored: `readWritten` turns it into its value.
 */
import { escapeHtml, stringify } from './json.js'
import { setOwn } from './object.js'
import { type JsonTrace, parseScalars } from './traced.js'
import type { JsonObject, JsonValue } from './value.js'
import { writtenNumber } from './written-numbers.js'

const written = (literal: string): JsonValue => Symbol(literal) as unknown as JsonValue

/** The text of a value that is one as written. */
export const writtenText = (value: unknown): string | undefined =>
  typeof value === 'symbol' ? value.description : undefined

/** The text is known to be JSON of a bounded depth. */
export const parseAsWritten = (text: string): JsonValue =>
  parseScalars(text, (literal, value) => (literal === stringify(value) ? value : written(literal)))

/** What JavaScript holds, with the numbers of raw JSON as they were written. What has none is shared. */
export const withWrittenNumbers = <T extends JsonValue>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value
  let isSame = true
  const entries = Object.entries(value).map(([key, item]): [string, JsonValue] => {
    const text = writtenNumber(value, Array.isArray(value) ? Number(key) : key, item)
    const own = text === undefined ? withWrittenNumbers(item) : written(text)
    isSame &&= own === item
    return [key, own]
  })
  if (isSame) return value
  if (Array.isArray(value)) return entries.map(([, item]) => item) as T
  const copy: JsonObject = {}
  for (const [key, item] of entries) setOwn(copy, key, item)
  return copy as T
}

/** The same for numbers alone, as Go's maps hold them: a whole number that fits an int64 is one, however it was written. */
export const parseFloatsAsWritten = (text: string): JsonValue =>
  parseScalars(text, (literal, value) => {
    if (typeof value !== 'number' || literal === String(value)) return value
    const isInteger = !/[.eE]/.test(literal) && Number.isSafeInteger(value)
    return isInteger ? value : written(literal)
  })

/** `value` as it is read, and how its numbers were written. What has nothing written is shared. */
export const readWritten = (value: JsonValue): { value: JsonValue; trace: JsonTrace } => {
  const literals: JsonTrace['literals'] = new Map()
  const read = (given: JsonValue): JsonValue => {
    if (typeof given !== 'object' || given === null) return given
    const entries: [string, JsonValue][] = []
    const texts = new Map<string | number, string>()
    let isSame = true
    for (const [key, item] of Object.entries(given)) {
      const literal = writtenText(item)
      const own = literal === undefined ? read(item) : (JSON.parse(literal) as JsonValue)
      if (literal !== undefined && typeof own === 'number')
        texts.set(Array.isArray(given) ? Number(key) : key, literal)
      isSame &&= own === item
      entries.push([key, own])
    }
    if (isSame) return given
    const copy: JsonValue = Array.isArray(given) ? entries.map(([, item]) => item) : {}
    if (!Array.isArray(copy)) for (const [key, item] of entries) setOwn(copy, key, item)
    if (texts.size > 0) literals.set(copy, texts)
    return copy
  }
  const result = read(value)
  return { value: result, trace: { entries: new Map(), literals } }
}

/** As Go's encoder prints raw JSON: as it was written, HTML escaped. */
export const printWritten = (value: JsonValue): string => {
  const literal = writtenText(value)
  if (literal !== undefined) return escapeHtml(literal)
  if (typeof value !== 'object' || value === null) return stringify(value)
  if (Array.isArray(value)) return `[${value.map(printWritten).join(',')}]`
  const fields = Object.entries(value).map(
    ([key, item]) => `${stringify(key)}:${printWritten(item)}`,
  )
  return `{${fields.join(',')}}`
}
