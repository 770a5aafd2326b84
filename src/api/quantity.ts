/**
 * Quantities: `100m`, `1.5Gi`, `1e3`. Kept exactly, in billionths; the canonical text is upstream's (apimachinery,
 * pkg/api/resource).
 */

import { Kept } from '#collections/kept.js'
import { trimSpace } from '#go/trim-space.js'
import { int64Max } from '#json/int64.js'
import { limits } from '#limits'

type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

export interface Quantity {
  /** The value times 10^9. */
  readonly nano: bigint
  readonly format: QuantityFormat
  /** As upstream prints it: canonical, or as it was written where upstream keeps that. */
  readonly text: string
}

/** The text is no quantity; the message is upstream's. */
export class QuantityError extends Error {}

const formatWrong =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const suffixWrong = "unable to parse quantity's suffix"
const numberWrong = 'unable to parse numeric part of quantity'

const unit = 1_000_000_000n

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const binaryExponents: Readonly<Record<string, number>> = {
  Ki: 10,
  Mi: 20,
  Gi: 30,
  Ti: 40,
  Pi: 50,
  Ei: 60,
}
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([s, e]) => [e, s]))
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

interface Suffix {
  base: 2 | 10
  exponent: number
  format: QuantityFormat
}

const interpretSuffix = (suffix: string): Suffix => {
  if (Object.hasOwn(decimalExponents, suffix))
    return { base: 10, exponent: decimalExponents[suffix]!, format: 'DecimalSI' }
  if (Object.hasOwn(binaryExponents, suffix))
    return { base: 2, exponent: binaryExponents[suffix]!, format: 'BinarySI' }
  if (!/^[eE][+-]?\d+$/.test(suffix)) throw new QuantityError(suffixWrong)
  const exponent = Number(suffix.slice(1))
  if (Math.abs(exponent) > limits.quantityExponentMax) throw new QuantityError(suffixWrong)
  return { base: 10, exponent, format: 'DecimalExponent' }
}

const floorTo3 = (exponent: number): number => Math.floor(exponent / 3) * 3

/** Zeros are counted in the text: dividing by ten again and again takes minutes where a client sends a million of them. */
const decimalText = (nano: bigint, format: QuantityFormat): string => {
  const digits = String(nano)
  let end = digits.length
  while (digits[end - 1] === '0') end--
  const exponent = digits.length - end - 9
  const shown = floorTo3(exponent)
  const mantissa = digits.slice(0, end + exponent - shown)
  if (shown === 0) return mantissa
  const suffix = format === 'DecimalSI' ? decimalSuffixes.get(shown) : undefined
  return `${mantissa}${suffix ?? (format === 'DecimalSI' ? '' : `e${shown}`)}`
}

const divideUp = (value: bigint, by: bigint): bigint => {
  const quotient = value / by
  if (value % by === 0n) return quotient
  return value < 0n ? quotient - 1n : quotient + 1n
}

const binaryText = (nano: bigint): string => {
  let value = nano / unit
  let power = 0
  while (power < binarySuffixes.length - 1 && value % 1024n === 0n) {
    value /= 1024n
    power++
  }
  return `${value}${binarySuffixes[power]}`
}

/** The canonical text of an amount. */
export const formatQuantity = (nano: bigint, format: QuantityFormat): string => {
  if (nano === 0n) return '0'
  if (format !== 'BinarySI') return decimalText(nano, format)
  const small = nano > -1024n * unit && nano < 1024n * unit
  // A fraction has no binary suffix to stand behind.
  return small || nano % unit !== 0n ? decimalText(nano, 'DecimalSI') : binaryText(nano)
}

export const makeQuantity = (nano: bigint, format: QuantityFormat): Quantity => ({
  nano,
  format,
  text: formatQuantity(nano, format),
})

/** No two parts of it may begin alike: trying all ways to share zeros among them takes minutes. */
const shape = /^([+-]?)0*([1-9]\d*)?(?:\.(\d*))?([eEinumkKMGTP]+[-+]?\d*|[-+]\d*|)$/

/** Upstream keeps the text of a number that its quick check takes for canonical: `1.500`, `+5`, `007`. */
const isKeptAsWritten = (digits: string, fraction: string, suffix: Suffix): boolean => {
  if (suffix.format === 'BinarySI') {
    if (fraction !== '') return false
    const precision = 15 - digits.length - Math.trunc((suffix.exponent * 3) / 10) - 1
    return precision >= 0 && (BigInt(digits) & 7n) !== 0n
  }
  const scale = suffix.exponent - fraction.length
  const shifted = digits + fraction
  if (shifted.length > 18 || scale < -9) return false
  return scale % 3 === 0 && !shifted.endsWith('000') && shifted[0] !== '0'
}

/** What has no digits is zero to upstream's quick parser, and no number to the one for large and small exponents. */
const isNumber = (number: string, { base, exponent }: Suffix): boolean =>
  /\d/.test(number) || (base === 2 ? exponent < 50 : exponent >= -9)

/** Rounds away from zero: whoever asks for a little gets a little. */
const scaled = (digits: string, fraction: string, suffix: Suffix): bigint => {
  const value = BigInt(digits + fraction)
  if (suffix.base === 2)
    return divideUp(value * 2n ** BigInt(suffix.exponent) * unit, 10n ** BigInt(fraction.length))
  const shift = suffix.exponent - fraction.length + 9
  return shift >= 0 ? value * 10n ** BigInt(shift) : divideUp(value, 10n ** BigInt(-shift))
}

const parseNew = (text: string): Quantity => {
  if (text === '' || text.length > limits.quantityLengthMax) throw new QuantityError(formatWrong)
  const match = shape.exec(text)
  if (match === null) throw new QuantityError(formatWrong)
  // Upstream's scanner is done when a text ends within its leading zeros.
  const [, sign, digits = '0', fraction = '', suffixText] = match
  const suffix = interpretSuffix(suffixText!)
  if (!isNumber(text.slice(0, text.length - suffixText!.length), suffix))
    throw new QuantityError(numberWrong)
  let nano = scaled(digits, fraction, suffix)
  let { format } = suffix
  const keeps = isKeptAsWritten(digits, fraction, suffix)
  if (format === 'BinarySI' && nano > int64Max * unit) nano = int64Max * unit
  if (format === 'BinarySI' && nano > 0n && nano < unit) format = 'DecimalSI'
  if (sign === '-') nano = -nano
  return keeps ? { nano, format, text } : makeQuantity(nano, format)
}

/** Throws QuantityError. A number is taken as it is written in JSON. */
export const parseQuantity = (text: string): Quantity => quantities.of(trimSpace(text), parseNew)

/** The number before a binary suffix, if it is one that upstream keeps no text of. */
const wholeEights = (text: string): bigint | undefined => {
  const [, sign, digits, fraction, suffix] = shape.exec(text) ?? []
  if (digits === undefined || fraction !== undefined || !Object.hasOwn(binaryExponents, suffix!))
    return undefined
  const parts = interpretSuffix(suffix!)
  const precision = 15 - digits.length - Math.trunc((parts.exponent * 3) / 10) - 1
  return precision >= 0 && (BigInt(digits) & 7n) === 0n
    ? scaled(sign + digits, '', parts)
    : undefined
}

/**
 * Whether upstream's parser makes the same of two texts of one amount. It keeps the scale that was written, and the text
 * where that looks canonical.
 */
export const isParsedAlike = (given: string, canonical: string): boolean => {
  if (given === canonical) return true
  const amount = wholeEights(given)
  return amount !== undefined && amount === wholeEights(canonical)
}

/** Each amount of a spec is looked at half a dozen times on its way, and most objects ask for the same few. */
const quantities = new Kept<Quantity>(limits.quantitiesKept, limits.quantityLengthKeptMax)

export const compareQuantities = (a: Quantity, b: Quantity): number =>
  a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0

export const compareQuantityTexts = (a: string, b: string): number =>
  compareQuantities(parseQuantity(a), parseQuantity(b))

/** Rounds up to whole thousandths, as defaulting does with every resource list. */
export const roundUpToMilli = (quantity: Quantity): Quantity =>
  quantity.nano % 1_000_000n === 0n
    ? quantity
    : makeQuantity(divideUp(quantity.nano, 1_000_000n) * 1_000_000n, quantity.format)

/** The sum keeps the format of `a`, unless `a` is zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity =>
  makeQuantity(a.nano + b.nano, a.nano === 0n ? b.format : a.format)

export const subtractQuantities = (a: Quantity, b: Quantity): Quantity =>
  makeQuantity(a.nano - b.nano, a.nano === 0n ? b.format : a.format)

/** Whole units, rounded up. */
export const quantityValue = (quantity: Quantity): bigint => divideUp(quantity.nano, unit)
/** Thousandths, rounded up. */
export const quantityMilliValue = (quantity: Quantity): bigint =>
  divideUp(quantity.nano, 1_000_000n)

/** What upstream sees of a number that does not fit 64 bits: none of a decimal one of up to 18 digits, the last 64 bits of others. */
const inInt64 = (exact: bigint, { format, text }: Quantity): bigint => {
  const seen = BigInt.asIntN(64, exact)
  const isShort = format !== 'BinarySI' && text.replace(/\D.*/, '').length <= 18
  return seen !== exact && isShort ? 0n : seen
}

/** As Go's Quantity.Value and MilliValue have them, for what goes wrong with the number there, too. */
export const int64Value = (quantity: Quantity): bigint => inInt64(quantityValue(quantity), quantity)
export const int64MilliValue = (quantity: Quantity): bigint =>
  inInt64(quantityMilliValue(quantity), quantity)

/** Whether upstream takes it for a whole number, by its thousandths. */
export const isWholeQuantity = (quantity: Quantity): boolean =>
  int64MilliValue(quantity) % 1000n === 0n
