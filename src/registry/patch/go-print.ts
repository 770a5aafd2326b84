/** Values as Go's fmt prints them with %v: the form in which upstream's patch errors show maps and lists. */
import { formatDouble } from '#go/number.js'
import { writtenText } from '#json/as-written.js'
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
  const type = value === null || value === undefined ? '' : `${goTypeOf(value)}=`
  return `%!s(${type}${scalarOf(value)})`
}

/** `%s`, which fits strings only: `map[a:%!s(int64=1) b:x]` */
export const goPrintAsText = (value: Value): string => printWith(value, textOf)

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
