/** Values as Go's fmt prints them in upstream's errors, with %v, %s and %#v. */
import { formatDouble } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { writtenText } from '#json/as-written.js'
import { int64Max } from '#json/int64.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'

/** The number in a value whose type is float64. */
const doubleOf = (value: JsonValue): number => Number(writtenText(value) ?? value)

type Value = JsonValue | undefined

const printWith = (value: Value, scalar: (value: Value) => string): string => {
  if (Array.isArray(value)) return `[${value.map((one) => printWith(one, scalar)).join(' ')}]`
  if (!isJsonObject(value)) return scalar(value)
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${key}:${printWith(value[key], scalar)}`)
  return `map[${entries.join(' ')}]`
}

const scalarOf = (value: Value): string => {
  if (value === null || value === undefined) return '<nil>'
  return goTypeOf(value) === 'float64' ? formatDouble(doubleOf(value)) : String(value)
}

/** `map[a:1 b:[x y]]`; keys sorted, strings bare, null as `<nil>`. */
export const goPrint = (value: Value): string => printWith(value, scalarOf)

const textOf = (value: Value): string => {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return '<nil>'
  return `%!s(${goTypeOf(value)}=${scalarOf(value)})`
}

/** `%s`, which fits strings only: `map[a:%!s(int64=1) b:x]` */
export const goPrintAsText = (value: Value): string =>
  value === null || value === undefined ? '%!s(<nil>)' : printWith(value, textOf)

/** `%#v`: `map[string]interface {}{"a":1, "b":[]interface {}{"x"}}` */
export const goSyntax = (value: JsonValue, mapType = 'map[string]interface {}'): string => {
  const print = (inner: JsonValue): string => goSyntax(inner, mapType)
  if (value === null) return 'interface {}(nil)'
  if (typeof value === 'string') return goQuote(value)
  // A uint64, which only YAML has.
  if (typeof value === 'bigint' && value > int64Max) return `0x${value.toString(16)}`
  if (Array.isArray(value)) return `[]interface {}{${value.map(print).join(', ')}}`
  if (!isJsonObject(value)) return goPrint(value)
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${goQuote(key)}:${print(value[key]!)}`)
  return `${mapType}{${entries.join(', ')}}`
}

/** What reflect.TypeOf says of a decoded JSON value. Of those as written (src/json/as-written.ts) only numbers come here. */
export const goTypeOf = (value: JsonValue | undefined): string => {
  if (value === null || value === undefined) return '%!s(<nil>)'
  if (Array.isArray(value)) return '[]interface {}'
  if (isJsonObject(value)) return 'map[string]interface {}'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'int64' : 'float64'
}

/** What reflect's Kind says of a decoded JSON value. */
export const goKindNameOf = (value: JsonValue): string => {
  if (Array.isArray(value)) return 'slice'
  return isJsonObject(value) ? 'map' : goTypeOf(value)
}
