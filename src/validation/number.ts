/** Numbers, percentages and quantities as upstream checks them (pkg/apis/core/validation, apimachinery validation). */
import { type FieldError, invalid } from '#api/field-error.js'
import { regexMessage } from '#api/names.js'
import { parseQuantity } from '#api/quantity.js'

const nonNegativeMessage = 'must be greater than or equal to 0'

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

/** A count, or a percentage up to a hundred. */
export const validIntOrPercent = (
  path: string,
  value: number | string | undefined,
): FieldError[] => {
  if (value === undefined) return []
  if (typeof value === 'number') return nonNegative(path, value)
  if (!/^[0-9]+%$/.test(value)) return [invalid(path, value, percentMessage)]
  return Number(value.slice(0, -1)) > 100
    ? [invalid(path, value, 'must not be greater than 100%')]
    : []
}
