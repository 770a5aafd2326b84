/** Numbers against a structural schema: their format, bounds and factors, in the words of kube-openapi's validator. */
import { type FieldError, invalid } from '#api/field-error.js'
import { formatDouble } from '#go/number.js'
import { type Int64, int64Min } from '#json/int64.js'
import type { StructuralSchema } from './structural-schema.js'

/** An integer in Go; what has no fraction and is beyond what a float64 counts exactly, was written as a float. */
export const isGoInteger = (value: unknown): boolean =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))

/** An error without a field of its own: upstream reports it at the nil path with an empty value. */
export const rootError = (detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: '<nil>',
  body: `Invalid value: "": ${detail}`,
})

const jsonIntegerMax = Number.MAX_SAFE_INTEGER
const nearlyWhole = 1e-9

/** What upstream's validator takes for an integer though it was written as a float: nearly whole is whole, from above. */
export const isWholeFloat = (value: number): boolean => {
  if (Math.abs(value) > jsonIntegerMax) return false
  if (Number.isInteger(value)) return true
  const whole = Math.trunc(value)
  return value > 1 && (value - whole) / (value + whole) < nearlyWhole
}

const int32Formats = new Set(['int32', 'int64'])
const floatFormats = new Set(['float', 'double'])
const float32Max = 3.4028235677973366e38

/** What a number of the type must be; undefined when it is in range. */
const rangeProblem = (value: Int64, typeName: string, format: string): string | undefined => {
  const named = format ? `with format ${format}` : '(default format)'
  const problem = `value must be of type ${typeName} ${named}`
  if (typeName === 'integer') {
    const bits = format === 'int32' ? 31n : 63n
    // Upstream reads the shortest digits that are this float: -2^63 has others.
    const digits = String(value)
    if (!/^-?\d+$/.test(digits)) return problem
    const n = BigInt(digits)
    return n >= -(2n ** bits) && n < 2n ** bits ? undefined : problem
  }
  return format === 'float' && Math.abs(Number(value)) >= float32Max ? problem : undefined
}

/**
 * What is compared: an int64 exactly, with the whole part of the bound, as Go's conversion makes it; that makes the least
 * int64 of a bound that is none. Else as doubles.
 */
const compared = (isExact: boolean, value: Int64, limit: number): [Int64, Int64] => {
  if (!isExact) return [Number(value), limit]
  return [value, limit >= -(2 ** 63) && limit < 2 ** 63 ? Math.trunc(limit) : int64Min]
}

const isMultiple = (n: Int64, factor: Int64, isExact: boolean): boolean => {
  if (isExact) return BigInt(n) % BigInt(factor) === 0n
  const by = Number(factor)
  return isWholeFloat(by < 1 ? (1 / by) * Number(n) : Number(n) / by)
}

export const validateNumber = (
  value: Int64,
  schema: StructuralSchema,
  types: readonly string[],
  path: string,
): FieldError[] => {
  const typeName = types.length === 1 ? types[0]! : ''
  const { multipleOf, maximum, minimum } = schema
  const format =
    (typeName === 'integer' && int32Formats.has(schema.format ?? '')) ||
    (typeName === 'number' && floatFormats.has(schema.format ?? ''))
      ? schema.format!
      : ''
  const errors: FieldError[] = []
  /** A value that is compared as a double is told as one. */
  const should = (words: string, limit: Int64, isExact: boolean) => {
    const print = (n: Int64) => (isExact ? String(n) : formatDouble(Number(n)))
    const body = `Invalid value: ${print(value)}: ${path} in body should be ${words} ${print(limit)}`
    errors.push({ type: 'FieldValueInvalid', field: path, body })
  }
  /** True when `n` fits; else upstream compares as plain numbers. */
  const inRange = (n: Int64, what: string): boolean => {
    const problem = rangeProblem(n, typeName, format)
    if (problem !== undefined) errors.push(rootError(`${what} ${problem} in ${path}`))
    return problem === undefined
  }
  const isInteger = isGoInteger(value)
  inRange(value, 'Checked')
  if (multipleOf !== undefined) {
    const isExact = inRange(multipleOf, 'MultipleOf') && isInteger
    const [n, factor] = compared(isExact, value, multipleOf)
    if (factor <= 0)
      errors.push(
        invalid(
          path,
          factor,
          `factor MultipleOf declared for ${path} must be positive: ${isExact ? String(factor) : formatDouble(Number(factor))}`,
        ),
      )
    else if (!isMultiple(n, factor, isExact)) should('a multiple of', factor, isExact)
  }
  if (minimum !== undefined) {
    const isExact = inRange(minimum, 'Minimum boundary') && isInteger
    const [n, least] = compared(isExact, value, minimum)
    if (schema.exclusiveMinimum && n <= least) should('greater than', least, isExact)
    else if (n < least) should('greater than or equal to', least, isExact)
  }
  if (maximum !== undefined) {
    const isExact = inRange(maximum, 'Maximum boundary') && isInteger
    const [n, most] = compared(isExact, value, maximum)
    if (schema.exclusiveMaximum && n >= most) should('less than', most, isExact)
    else if (n > most) should('less than or equal to', most, isExact)
  }
  return errors
}
