/**
 * Path elements in their FieldsV1 text: `f:replicas`, `k:{"name":"web"}`, `v:"x"`, `i:0`. The text is canonical (keys
 * sorted, no spaces, Go's escapes), so that equal elements are equal strings.
 */

import { Kept } from '#collections/kept.js'
import { compareTexts } from '#go/compare-texts.js'
import { formatDouble, goNumber } from '#go/number.js'
import { parseInt64 } from '#json/int64.js'
import { parse, stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'

const needsNoEscape = /^[\w./:-]*$/

const escapesByNumber: Readonly<Record<string, string>> = { '\\b': '\\u0008', '\\f': '\\u000c' }

/** JSON of a scalar as upstream's json-iterator writes it: as encoding/json, but `\b` and `\f` by number. */
const goJson = (value: JsonValue): string => {
  if (typeof value === 'string' && needsNoEscape.test(value)) return `"${value}"`
  const json = stringify(value)
  return json.includes('\\') ? json.replace(/\\./g, (c) => escapesByNumber[c] ?? c) : json
}

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
  if (fields.length === 1) return `k:{${goJson(fields[0]![0])}:${goJson(fields[0]![1])}}`
  const parts = [...fields]
    .sort((a, b) => (a[0] < b[0] ? -1 : 1))
    .map(([name, value]) => `${goJson(name)}:${goJson(value)}`)
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
  const left = parseElement(a)
  const right = parseElement(b)
  if (a[0] === 'v') return compareScalars(left, right)
  return compareKeys(Object.entries(left as JsonObject), Object.entries(right as JsonObject))
}

const parseElement = (text: string): JsonValue => parseJson(text.slice(2))

const compareKeys = (a: [string, JsonValue][], b: [string, JsonValue][]): number => {
  for (const [i, [name, value]] of a.entries()) {
    const other = b[i]
    if (other === undefined) return 1
    if (name !== other[0]) return name < other[0] ? -1 : 1
    const order = compareScalars(value, other[1])
    if (order !== 0) return order
  }
  return a.length - b.length
}

const scalarRanks: Readonly<Record<string, number>> = {
  number: 0,
  bigint: 0,
  string: 1,
  boolean: 2,
  object: 3,
}

const compareScalars = (a: JsonValue, b: JsonValue): number => {
  const rank = scalarRanks[typeof a]! - scalarRanks[typeof b]!
  if (rank !== 0) return rank
  if (a === b || a === null || b === null) return 0
  // Lists and maps, which nobody but a client writes there, have no order of their own.
  if (typeof a === 'object') return compareTexts(stringify(a), stringify(b))
  return a < b ? -1 : 1
}

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
  return typeof value === 'number' || typeof value === 'bigint'
    ? number(value)
    : JSON.stringify(value)
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
