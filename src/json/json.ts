/**
 * JSON without loss: integers that a double cannot hold become BigInt, keys that come twice are reported, and what Go
 * would tell apart (1 and 1.0) can be told apart. Ordinary texts take JSON.parse and JSON.stringify and one scan.
 */
import { limits } from '#limits'
import { jsonSyntaxMessage } from './syntax.js'
import { type ParsedJson, parseTraced } from './traced.js'
import type { JsonValue } from './value.js'
import { metWritten, writtenNumber } from './written-numbers.js'

/** The text is no JSON; the message is that of Go's decoder. */
export class JsonSyntaxError extends Error {}

const quote = 0x22
const backslash = 0x5c
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

interface Shape {
  keys: number
  /** The bracket that went beyond what is decoded. */
  tooDeep: string
  /** Some number may not survive JSON.parse: it has sixteen digits or more, a point or an exponent, or is `-0`. */
  numbers: boolean
}

const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let before = at - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((at - before) % 2 === 1) return at
  }
}

/** One pass over a text that is known to be JSON. */
const shapeOf = (text: string): Shape => {
  const shape = { keys: 0, tooDeep: '', numbers: false }
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === 0x3a) shape.keys++
    else if (code === 0x7b || code === 0x5b) {
      depth++
      if (depth > limits.jsonDepthMax && shape.tooDeep === '') shape.tooDeep = text[at]!
    } else if (code === 0x7d || code === 0x5d) depth--
    else if (isDigit(code)) {
      const start = at
      while (isDigit(text.charCodeAt(at + 1))) at++
      const next = text.charCodeAt(at + 1) | 0x20
      const isMinusZero = code === 0x30 && text.charCodeAt(start - 1) === 0x2d
      if (at - start > 14 || next === 0x2e || next === 0x65 || isMinusZero) shape.numbers = true
    }
  }
  return shape
}

const countKeys = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item)
    return count
  }
  for (const key in value) count += 1 + countKeys((value as Record<string, unknown>)[key])
  return count
}

/** Throws JsonSyntaxError. `bytes` are what the text was read from, where that may be no UTF-8. */
export const parseWithTrace = (text: string, bytes?: Buffer): ParsedJson => {
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    throw new JsonSyntaxError(jsonSyntaxMessage(bytes ?? text))
  }
  const shape = shapeOf(text)
  if (shape.tooDeep !== '')
    throw new JsonSyntaxError(`invalid character '${shape.tooDeep}' exceeded max depth`)
  // A lone surrogate is legal in JSON text and in a JavaScript string, but cannot be sent as UTF-8.
  const surrogates = /\\u[dD][89a-fA-F]/.test(text)
  if (!surrogates && !shape.numbers && countKeys(value) === shape.keys)
    return { value, trace: undefined }
  return parseTraced(text)
}

/** Throws JsonSyntaxError. */
export const parse = (text: string): JsonValue => parseWithTrace(text).value

const writeSlowly = (value: JsonValue | undefined): string => {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null)
  const text = (item: JsonValue | undefined, key: string | number): string =>
    writtenNumber(value, key, item) ?? writeSlowly(item)
  if (Array.isArray(value)) return `[${value.map(text).join(',')}]`
  const entries = Object.entries(value).filter(([, v]) => v !== undefined)
  return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${text(v, k)}`).join(',')}}`
}

/** JSON as JSON.stringify writes it, BigInt as a number, and numbers of raw JSON as they were written. */
export const write = (value: unknown): string => {
  try {
    const text = JSON.stringify(value)
    return metWritten() ? writeSlowly(value as JsonValue) : text
  } catch (error) {
    // JSON.stringify refuses BigInt, which is rare enough to pay for the failed try.
    if (error instanceof TypeError) return writeSlowly(value as JsonValue)
    throw error
  }
}

const htmlCharacters = ['<', '>', '&', '\u2028', '\u2029']
const escapeCharacter = (char: string): string =>
  `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** `<`, `>` and `&` of a JSON text escaped, as encoding/json does. */
export const escapeHtml = (text: string): string =>
  // Five searches, each at the speed of memory, cost a tenth of what a pattern does.
  htmlCharacters.some((char) => text.includes(char))
    ? text.replace(/[<>&\u2028\u2029]/g, escapeCharacter)
    : text

/** As upstream's encoder writes: BigInt as a number, and HTML escaped. */
export const stringify = (value: unknown): string => escapeHtml(write(value))
