/** Strings and patterns (cel-go, ext/strings.go; apiserver, pkg/cel/library/regex.go). Indexes count code points. */
import type { RE2JS } from 're2js'
import { limits } from '#limits'
import type { Implementations } from '../evaluation.js'
import { compilePattern, matchesPattern } from '../patterns.js'
import { CelError, type CelValue, codePointAt, codePointsOf, sizeOf } from '../values.js'
import { CostExceeded, work } from '../work.js'
import { formatString } from './string-format.js'

const outOfRange = (index: bigint | number): CelError =>
  new CelError(`index out of range: ${index}`)

const isWithin = (index: bigint, length: number): boolean => index >= 0n && index <= BigInt(length)

const charAt = (text: string, index: bigint): string => {
  if (!isWithin(index, sizeOf(text)!)) throw outOfRange(index)
  return codePointAt(text, Number(index)) ?? ''
}

const startsAt = (points: readonly string[], part: readonly string[], at: number): boolean =>
  part.every((point, i) => points[at + i] === point)

const indexOf = (text: string, part: string, from = 0n): bigint => {
  if (part === '') return from
  const [points, wanted] = [codePointsOf(text), codePointsOf(part)]
  if (from < 0n) throw outOfRange(from)
  if (from >= BigInt(points.length)) return -1n
  for (let i = Number(from); i <= points.length - wanted.length; i++)
    if (startsAt(points, wanted, i)) return BigInt(i)
  return -1n
}

const lastIndexOf = (text: string, part: string, from?: bigint): bigint => {
  const [points, wanted] = [codePointsOf(text), codePointsOf(part)]
  if (part === '') return from ?? BigInt(points.length)
  if (from === undefined && Buffer.byteLength(text) < Buffer.byteLength(part)) return -1n
  const start = from ?? BigInt(points.length - 1)
  if (start < 0n) throw outOfRange(start)
  if (start >= BigInt(points.length)) return -1n
  for (let i = Math.min(Number(start), points.length - wanted.length); i >= 0; i--)
    if (startsAt(points, wanted, i)) return BigInt(i)
  return -1n
}

const bounded = (length: number): void => {
  if (length > limits.celTextCharactersMax) throw new CostExceeded()
}

const replace = (text: string, old: string, by: string, count = -1n): string => {
  const most = old === '' ? text.length + 1 : Math.floor(text.length / old.length)
  bounded(text.length + most * by.length)
  if (count < 0n) return old === '' ? replaceEmpty(text, by, Infinity) : text.split(old).join(by)
  if (old === '') return replaceEmpty(text, by, Number(count))
  let result = ''
  let rest = text
  for (let i = 0n; i < count; i++) {
    const at = rest.indexOf(old)
    if (at < 0) break
    result += rest.slice(0, at) + by
    rest = rest.slice(at + old.length)
  }
  return result + rest
}

/** An empty text stands before every character and at the end. */
const replaceEmpty = (text: string, by: string, count: number): string => {
  const points = codePointsOf(text)
  const parts = points.map((point, i) => (i < count ? by : '') + point)
  return parts.join('') + (points.length < count ? by : '')
}

const split = (text: string, separator: string, count = -1n): string[] => {
  if (count === 0n) return []
  const parts = separator === '' ? codePointsOf(text) : text.split(separator)
  if (count < 0n || BigInt(parts.length) <= count) return parts
  const kept = Number(count) - 1
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)]
}

const substring = (text: string, start: bigint, end?: bigint): string => {
  const points = codePointsOf(text)
  const to = end ?? BigInt(points.length)
  if (end !== undefined && start > end)
    throw new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  if (!isWithin(start, points.length)) throw outOfRange(start)
  if (!isWithin(to, points.length)) throw outOfRange(to)
  return points.slice(Number(start), Number(to)).join('')
}

const ascii = (text: string, change: (letters: string) => string): string =>
  text.replace(/[A-Za-z]+/g, change)

const quotes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}
const quote = (text: string): string =>
  `"${text.replace(/[\p{Cc}"\\]/gu, (character) => quotes[character] ?? character)}"`

/** What unicode.IsSpace takes for blank. */
const isBlank = (character: string): boolean => /[^\S\ufeff]|\u0085/.test(character)

const trim = (text: string): string => {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text[start]!)) start++
  while (end > start && isBlank(text[end - 1]!)) end--
  return text.slice(start, end)
}

const pattern = (text: string, prefix: string): RE2JS => {
  try {
    return compilePattern(text)
  } catch (error) {
    throw new CelError(`${prefix}${(error as Error).message}`)
  }
}

/** A pattern that is constant must parse before anything is matched. */
export const checkPattern = (re: string): boolean => {
  pattern(re, '')
  return true
}

const find = (text: string, re: string): string => {
  const matcher = pattern(re, 'Illegal regex: ').matcher(text)
  return matcher.find() ? (matcher.group() ?? '') : ''
}

const findAll = (text: string, re: string, max = -1n): string[] => {
  const matcher = pattern(re, 'Illegal regex: ').matcher(text)
  const found: string[] = []
  while ((max < 0n || BigInt(found.length) < max) && matcher.find())
    found.push(matcher.group() ?? '')
  return found
}

const matches = (text: string, re: string): boolean => {
  // Upstream counts it as one where it is no method.
  work((text.length * re.length) / 40)
  pattern(re, '')
  return matchesPattern(re, text)
}

const join = (list: readonly CelValue[], separator = ''): string => {
  const wrong = list.find((item) => typeof item !== 'string')
  if (wrong !== undefined) throw new CelError(`join: invalid input: ${String(wrong)}`)
  const texts = list as readonly string[]
  bounded(texts.reduce((sum, text) => sum + text.length + separator.length, 0))
  return texts.join(separator)
}

/** A key as one step of a JSON pointer. */
const escapeKey = (key: string): string => key.replace(/[~/]/g, (c) => (c === '~' ? '~0' : '~1'))

export const stringFunctions: Implementations = {
  contains_string: (text: string, part: string) => text.includes(part),
  ends_with_string: (text: string, part: string) => text.endsWith(part),
  starts_with_string: (text: string, part: string) => text.startsWith(part),
  matches,
  matches_string: matches,
  string_char_at_int: charAt,
  string_index_of_string: indexOf,
  string_index_of_string_int: indexOf,
  string_last_index_of_string: lastIndexOf,
  string_last_index_of_string_int: lastIndexOf,
  string_lower_ascii: (text: string) => ascii(text, (letters) => letters.toLowerCase()),
  string_upper_ascii: (text: string) => ascii(text, (letters) => letters.toUpperCase()),
  string_replace_string_string: replace,
  string_replace_string_string_int: replace,
  string_split_string: split,
  string_split_string_int: split,
  string_substring_int: substring,
  string_substring_int_int: substring,
  string_trim: trim,
  string_format: formatString,
  strings_quote: quote,
  list_join: join,
  list_join_string: join,
  string_find_string: find,
  string_find_all_string: findAll,
  string_find_all_string_int: findAll,
  string_jsonpatch_escapeKey_string: escapeKey,
}
