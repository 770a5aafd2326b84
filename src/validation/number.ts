/** Numbers, percentages and quantities as upstream checks them (pkg/apis/core/validation, apimachinery validation). */
import { type FieldError, invalid, shownAsJson } from '#api/field-error.js'
import { regexMessage } from '#api/names.js'
import { parseQuantity } from '#api/quantity.js'
import { limits } from '#limits'

export const nonNegativeMessage = 'must be greater than or equal to 0'

export const nonNegative = (path: string, value: number | undefined): FieldError[] =>
  (value ?? 0) < 0 ? [invalid(path, value, nonNegativeMessage)] : []

export const positive = (path: string, value: number): FieldError[] =>
  value > 0 ? [] : [invalid(path, value, 'must be greater than 0')]

/** Printed as text, as upstream prints quantities. */
export const nonNegativeQuantity = (path: string, value: string | number): FieldError[] =>
  parseQuantity(String(value)).nano < 0n ? [invalid(path, String(value), nonNegativeMessage)] : []

const percentMessage = regexMessage(
  "a valid percent string must be a numeric string followed by an ending '%'",
  '[0-9]+%',
  '1%',
  '93%',
)

const isPercent = (value: number | string): value is string =>
  typeof value === 'string' && /^[0-9]+%$/.test(value)

/** A count, or a percentage. */
export const validIntOrPercent = (
  path: string,
  value: number | string | undefined,
): FieldError[] => {
  if (value === undefined) return []
  if (typeof value === 'number') return nonNegative(path, value)
  return isPercent(value) ? [] : [shownAsJson(invalid(path, value, percentMessage))]
}

export const notMoreThanAll = (path: string, value: number | string | undefined): FieldError[] =>
  value !== undefined && isPercent(value) && Number.parseInt(value, 10) > 100
    ? [invalid(path, value, 'must not be greater than 100%')]
    : []

/** A text that is neither a number nor a percentage counts as zero. */
export const isNone = (value: number | string): boolean =>
  Number(typeof value === 'string' && isPercent(value) ? value.slice(0, -1) : value) === 0 ||
  (typeof value === 'string' && !isPercent(value) && !/^[-+]?\d+$/.test(value))

/** How long a token of a ServiceAccount is asked to live. */
export const validTokenSeconds = (path: string, seconds: number): FieldError[] => {
  if (seconds < limits.tokenSecondsMin)
    return [invalid(path, seconds, 'may not specify a duration less than 10 minutes')]
  return seconds > limits.tokenSecondsMax
    ? [invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds')]
    : []
}
