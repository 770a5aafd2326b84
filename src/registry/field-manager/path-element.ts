/**
 * Path elements in their FieldsV1 text: `f:replicas`, `k:{"name":"web"}`, `v:"x"`, `i:0`. The text is canonical (keys
 * sorted, no spaces, Go's escapes), so that equal elements are equal strings.
 */

import { Kept } from '#collections/kept.js'
import { compareTexts } from '#go/compare-texts.js'
import { formatDouble, goNumber } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { parseInt64 } from '#json/int64.js'
import { parse, stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'

const needsNoEscape = /^[\w./:-]*$/

const escapesByNumber: Readonly<Record<string, string>> = { '\\b': '\\u0008', '\\f': '\\u000c' }

const byNumber = (json: string): string =>
  json.includes('\\') ? json.replace(/\\./g, (c) => escapesByNumber[c] ?? c) : json

/** JSON as upstream's json-iterator writes it: as encoding/json, but `\b` and `\f` by number, and 1e-07. */
const goJson = (value: JsonValue): string => {
  if (typeof value === 'string' && needsNoEscape.test(value)) return `"${value}"`
  if (typeof value === 'number') return stringify(value).replace(/e-(\d)$/, 'e-0$1')
  return byNumber(stringify(value))
}

/** The names of keys are not made fit for HTML. */
const goKey = (name: string): string =>
  needsNoEscape.test(name) ? `"${name}"` : byNumber(JSON.stringify(name))

/** Few elements have a number that a double may not hold. */
const hasLongNumber = /\d{16}/

const parseJson = (text: string): JsonValue =>
  hasLongNumber.test(text) ? parse(text) : (JSON.parse(text) as JsonValue)

/** Field names come again and again, and so do the `name` keys of a template's lists: their elements are made once. */
const fieldElements = new Kept<string>(limits.fieldElementsKept)
const nameElements = new Kept<string>(limits.fieldElementsKept)

const makeFieldElement = (name: string): string => `f:${name}`
const makeNameElement = (name: string): string => keyElement([['name', name]])

export const fieldElement = (name: string): string => fieldElements.of(name, makeFieldElement)
export const valueElement = (value: JsonValue): string => `v:${goJson(value)}`

/** Most lists have one key, and most of them `name`. */
export const singleKeyElement = (key: string, value: JsonValue): string =>
  key === 'name' && typeof value === 'string'
    ? nameElements.of(value, makeNameElement)
    : keyElement([[key, value]])

/** `fields` in any order. */
export const keyElement = (fields: readonly (readonly [string, JsonValue])[]): string => {
  if (fields.length === 1) return `k:{${goKey(fields[0]![0])}:${goJson(fields[0]![1])}}`
  const parts = [...fields]
    .sort((a, b) => (a[0] < b[0] ? -1 : 1))
    .map(([name, value]) => `${goKey(name)}:${goJson(value)}`)
  return `k:{${parts.join(',')}}`
}

/** Most elements: one string without anything to escape. */
const isCanonical = /^(?:v:"[\w./:-]*"|k:\{"\w+":"[\w./:-]*"\})$/

/** The canonical text of an element that a client wrote; undefined for kinds of elements that nobody knows. */
export const readElement = (text: string): string | undefined => {
  if (text.length < 2) throw new Error('key must be 2 characters long:')
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`)
  const rest = text.slice(2)
  switch (text[0]) {
    case 'f':
      return text
    case 'v':
      return isCanonical.test(text) ? text : valueElement(parseJson(rest))
    case 'k':
      return isCanonical.test(text) ? text : keyElement(readKeys(rest))
    case 'i': {
      const index = parseInt64(rest)
      if (index === undefined) throw new Error(`invalid index: ${text}`)
      return `i:${index}`
    }
    default:
      return undefined
  }
}

const readKeys = (text: string): [string, JsonValue][] => {
  const keys = parseJson(text) ?? {}
  if (!isJsonObject(keys)) throw new Error(`expected an object: k:${text}`)
  return Object.entries(keys)
}

const plainText = /^(?:v:|k:\{"name":)"[^"\\ !]*"\}?$/

const ranks: Readonly<Record<string, number>> = { '.': 0, f: 1, k: 2, v: 3, i: 4 }

/** Upstream's order: fields, then keys, then values, then indexes; `.` before all. */
export const compareElements = (a: string, b: string): number => {
  if (a === b) return 0
  if (a.charCodeAt(0) === 0x66 && b.charCodeAt(0) === 0x66) return a < b ? -1 : 1
  const rank = ranks[a[0]!]! - ranks[b[0]!]!
  if (rank !== 0) return rank
  if (a[0] === 'i') return Number(a.slice(2)) - Number(b.slice(2))
  // One plain string each, under the same key: their texts sort as their values do, and need no parsing.
  if (plainText.test(a) && plainText.test(b)) return a < b ? -1 : 1
  return compareValues(parseElement(a), parseElement(b)) || compareTexts(a, b)
}

const parseElement = (text: string): JsonValue => parseJson(text.slice(2))

/** Upstream's order: numbers, texts, booleans, lists, maps, null. */
const rankOf = (value: JsonValue): number => {
  if (value === null) return 5
  if (Array.isArray(value)) return 3
  return valueRanks[typeof value]!
}

const valueRanks: Readonly<Record<string, number>> = {
  number: 0,
  bigint: 0,
  string: 1,
  boolean: 2,
  object: 4,
}

const compareValues = (a: JsonValue, b: JsonValue): number => {
  const rank = rankOf(a) - rankOf(b)
  if (rank !== 0 || a === b || a === null || b === null) return rank
  if (Array.isArray(a)) return compareLists(a, b as JsonValue[], compareValues)
  if (isJsonObject(a)) return compareLists(entriesOf(a), entriesOf(b as JsonObject), compareEntry)
  return a < b ? -1 : 1
}

const compareLists = <T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number) => {
  for (const [i, item] of a.entries()) {
    if (i === b.length) return 1
    const order = compare(item, b[i]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}

const entriesOf = (map: JsonObject): [string, JsonValue][] =>
  Object.entries(map).sort((a, b) => compareTexts(a[0], b[0]))

const compareEntry = (a: [string, JsonValue], b: [string, JsonValue]): number =>
  compareTexts(a[0], b[0]) || compareValues(a[1], b[1])

type PrintNumber = (value: number | bigint) => string

/** `.spec.containers[name="web"].image`: the form of conflicts. Upstream reads the owners' numbers as float64. */
export const printPath = (path: readonly string[]): string =>
  path.map((element) => print(element, printAsFloat)).join('')

const printAsFloat: PrintNumber = (value) => formatDouble(Number(value))

export const printElement = (element: string): string => print(element, printAsGiven)

const printAsGiven: PrintNumber = (value) =>
  typeof value === 'bigint' ? String(value) : goNumber(value)

/** Maps have no brackets of their own (structured-merge-diff, value.ToString). */
const printValue = (value: JsonValue, number: PrintNumber): string => {
  if (Array.isArray(value)) return `[${value.map((item) => printValue(item, number)).join(',')}]`
  if (isJsonObject(value)) return printEntries(value, number).join('')
  if (typeof value === 'number' || typeof value === 'bigint') return number(value)
  return typeof value === 'string' ? goQuote(value) : String(value)
}

const printEntries = (value: JsonObject, number: PrintNumber): string[] =>
  Object.entries(value).map(([key, inner]) => `${key}=${printValue(inner, number)}`)

const print = (element: string, number: PrintNumber): string => {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'k':
      return `[${printEntries(parseJson(rest) as JsonObject, number).join(',')}]`
    case 'v':
      return `[=${printValue(parseJson(rest), number)}]`
    default:
      return `[${rest}]`
  }
}
