/** Values as Go's fmt prints them with %v: the form in which upstream's patch errors show maps and lists. */
import { isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'

/** `map[a:1 b:[x y]]`; keys sorted, strings bare, null as `<nil>`. */
export const goPrint = (value: JsonValue | undefined): string => {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`
  if (!isJsonObject(value)) return String(value)
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPrint(value[key])}`)
  return `map[${entries.join(' ')}]`
}

/** `%s`, which fits strings only. */
export const goPrintAsText = (value: JsonValue | undefined): string => {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return '%!s(<nil>)'
  return typeof value === 'object' ? goPrint(value) : `%!s(${goTypeOf(value)}=${value})`
}

/** What reflect.TypeOf says of a decoded JSON value. */
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
