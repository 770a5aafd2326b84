/** Capacities that claims may take parts of (kubernetes, resource/validation validateRequestPolicy). */
import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { addQuantities, compareQuantityTexts, parseQuantity, quantityValue } from '#api/quantity.js'
import { validSet } from './names.js'

const optionsMax = 10

const isMore = (a: string, b: string): boolean => compareQuantityTexts(a, b) > 0
const wholeValue = (text: string): bigint => quantityValue(parseQuantity(text))

const optionErrors = (
  path: string,
  fallback: string,
  capacity: string,
  values: string[],
): FieldError[] => [
  ...values.flatMap((value, i) =>
    i > 0 && isMore(values[i - 1]!, value)
      ? [invalid(index(path, i), value, 'values must be sorted in ascending order')]
      : [],
  ),
  ...validSet(
    path,
    values,
    { max: optionsMax, keyOf: (value) => String(wholeValue(value)) },
    (value, at) =>
      isMore(value, capacity)
        ? [invalid(at, value, `option is larger than capacity value: ${capacity}`)]
        : [],
  ),
  ...(values.length <= optionsMax &&
  values.some((value) => !isMore(value, fallback) && !isMore(fallback, value))
    ? []
    : [invalid(path, fallback, 'default value is not valid according to the requestPolicy')]),
]

const rangeErrors = (
  path: string,
  fallback: string,
  capacity: string,
  range: Fields,
): FieldError[] => {
  const { min, max, step } = range as { min?: string; max?: string; step?: string }
  if (min === undefined)
    return [required(child(path, 'min'), 'required when validRange is defined')]
  const errors: FieldError[] = []
  const refuse = (field: string, value: string, why: string): void => {
    errors.push(invalid(child(path, field), value, why))
  }
  if (isMore(min, capacity)) refuse('min', min, `min is larger than capacity value: ${capacity}`)
  if (isMore(min, fallback)) refuse('min', fallback, `default is less than min: ${min}`)
  if (max !== undefined) {
    if (isMore(min, max)) refuse('max', min, `min is larger than max: ${max}`)
    if (isMore(max, capacity)) refuse('max', max, `max is larger than capacity value: ${capacity}`)
    if (isMore(fallback, max)) refuse('max', fallback, `default is more than max: ${max}`)
  }
  if (step === undefined) return errors
  const { text: one } = addQuantities(parseQuantity(min), parseQuantity(step))
  if (isMore(one, capacity))
    refuse('step', step, `one step ${one} is larger than capacity value: ${capacity}`)
  const stepValue = wholeValue(step)
  for (const value of [fallback, ...(max === undefined ? [] : [max])])
    if (stepValue !== 0n && (wholeValue(value) - wholeValue(min)) % stepValue !== 0n)
      refuse('step', value, `value is not a multiple of a given step (${step}) from (${min})`)
  return errors
}

const policyErrors = (path: string, capacity: string, policy: Fields): FieldError[] => {
  const { validValues, validRange, default: fallback } = policy
  const values: string[] = validValues ?? []
  if (values.length > 0 && validRange !== undefined)
    return [
      forbidden(
        path,
        'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
      ),
    ]
  const which = values.length > 0 ? 'validValues' : 'validRange'
  if (values.length === 0 && validRange === undefined) return []
  if (fallback === undefined || fallback === null)
    return [required(child(path, 'default'), `required when ${which} is defined`)]
  return values.length > 0
    ? optionErrors(child(path, which), fallback, capacity, values)
    : rangeErrors(child(path, which), fallback, capacity, validRange)
}

/** Only a device that may be allocated many times can say how. */
export const validCapacity = (
  path: string,
  { value = '0', requestPolicy }: Fields,
  isShared: boolean,
): FieldError[] => {
  if (requestPolicy === undefined) return []
  const at = child(path, 'requestPolicy')
  return isShared
    ? policyErrors(at, value, requestPolicy)
    : [forbidden(at, 'allowMultipleAllocations must be true')]
}
