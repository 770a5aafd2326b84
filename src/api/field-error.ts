/**
 * Errors of validation, each at a field path, in upstream's words.
 * Source of forms: apimachinery, pkg/util/validation/field.
 */
import { goNumber } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'

export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

export interface FieldError {
  type: FieldErrorType
  /** `spec.containers[0].name`; `<nil>` for the root. */
  field: string
  /** The whole message without the field, e.g. `Invalid value: "x": must be …`. */
  body: string
  /** The message where the value's Go type has a name of its own, if that makes it another. */
  bodyIfNamed?: string
  /** The rule that is broken, if an object that is stored may go on breaking it (validation/late-rules.ts). */
  lateRule?: string
}

/** `metadata.labels[a]`: a path that ends in an index or a map key. */
export const index = (path: string, at: number | string): string => `${path}[${at}]`
/** `spec.replicas` of a key that may be empty. */
export const dotted = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** `spec.replicas`; the root is the empty string. A name that is empty is taken for an index. */
export const child = (path: string, ...names: string[]): string => {
  // Fast path: a path is made for every field that is checked, though few are ever shown.
  const rest = names.length === 1 ? names[0]! : names.join('.')
  if (names.at(-1) === '') return index(child(path, ...names.slice(0, -1)), '')
  return dotted(path, rest)
}

/** A value as upstream prints it in a message: strings quoted as Go's %q, scalars bare, anything else as JSON. */
export const printValue = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number') return goNumber(value)
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  return stringify(value)
}

const withDetail = (head: string, detail: string): string =>
  detail === '' ? head : `${head}: ${detail}`

/**
 * The message about a value. Only what is a plain string to Go is quoted as Go quotes; a string of a type that has a name
 * is JSON, as all else. The difference is in odd characters.
 */
const about = (
  what: string,
  value: unknown,
  detail = '',
): Pick<FieldError, 'body' | 'bodyIfNamed'> => {
  const shown = printValue(value)
  const body = withDetail(`${what}: ${shown}`, detail)
  const named = typeof value === 'string' ? stringify(value) : shown
  return named === shown ? { body } : { body, bodyIfNamed: withDetail(`${what}: ${named}`, detail) }
}

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  ...about('Invalid value', value, detail),
})
/** One error for each message of a rule about the value. */
export const invalidEach = (
  field: string,
  value: unknown,
  details: readonly string[],
): FieldError[] => details.map((detail) => invalid(field, value, detail))
/** An invalid value that upstream does not print. */
export const invalidUnprinted = (field: string, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  body: withDetail('Invalid value', detail),
})
export const required = (field: string, detail = ''): FieldError => ({
  type: 'FieldValueRequired',
  field,
  body: withDetail('Required value', detail),
})
export const duplicate = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  ...about('Duplicate value', value),
})
/** Upstream's InternalError. */
export const internal = (field: string, detail: string): FieldError => ({
  type: 'InternalError',
  field,
  body: `Internal error: ${detail}`,
})
export const forbidden = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  body: withDetail('Forbidden', detail),
})
export const notFound = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  ...about('Not found', value),
})
/** `values` in the order upstream prints them: sorted, unless its caller keeps an order. */
export const notSupported = (
  field: string,
  value: unknown,
  values: readonly string[],
): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  ...about(
    'Unsupported value',
    value,
    values.length === 0 ? '' : `supported values: ${values.map(goQuote).join(', ')}`,
  ),
})
/**
 * The value is JSON, as upstream prints a string whose Go type has a name, and pointers: for errors whose field does not
 * tell that the value is such.
 */
export const shownAsJson = (error: FieldError): FieldError => ({
  ...error,
  body: error.bodyIfNamed ?? error.body,
})
/** Not supported unless it is one of the values, or not there. */
export const oneOf = (
  field: string,
  value: string | undefined,
  values: readonly string[],
): FieldError[] =>
  value === undefined || values.includes(value) ? [] : [notSupported(field, value, values)]
export const tooLong = (field: string, maxLength: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  body:
    maxLength < 0
      ? 'Too long: value is too long'
      : `Too long: may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`,
})
export const tooMany = (field: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  body: withDetail(
    `Too many: ${actual}`,
    max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
  ),
})
