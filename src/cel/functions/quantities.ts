/** Quantities (apiserver, pkg/cel/library/quantity.go). */
import { compareQuantities, makeQuantity, parseQuantity, type Quantity } from '#api/quantity.js'
import type { Implementations } from '../evaluation.js'
import { CelError, KubernetesValue } from '../values.js'

const unit = 1_000_000_000n

class QuantityValue extends KubernetesValue {
  readonly typeName = 'kubernetes.Quantity'
  readonly quantity: Quantity
  /** Upstream keeps it in an int64 with a power of ten, which is all that it makes ints of. */
  readonly isSmall: boolean
  /** How many decimals it was written with, nine if it is not small: floats are made of an integer and a power of ten. */
  readonly decimals: number
  constructor(quantity: Quantity, isSmall: boolean, decimals: number) {
    super()
    this.quantity = quantity
    this.isSmall = isSmall
    this.decimals = decimals
  }
  equals(other: this): boolean {
    return this.quantity.nano === other.quantity.nano
  }
}

const powers: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }

/** By the number of digits that were written (apimachinery, resource.ParseQuantity). */
const isSmallText = (text: string): boolean => {
  const [, whole = '', fraction = '', suffix = ''] =
    /^[+-]?0*([1-9]\d*)?(?:\.(\d*))?(.*)$/s.exec(text) ?? []
  const power = powers[suffix]
  if (power === undefined) return whole.length + fraction.length <= 18
  return fraction === '' && 14 - whole.length - Math.floor((power * 3) / 10) >= 0
}

const decimalPowers: Readonly<Record<string, number>> = {
  ...{ n: -9, u: -6, m: -3 },
  ...{ k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 },
}

/** Negative for powers of ten; there are no more than nine. */
const decimalsOf = (text: string): number => {
  const [, fraction = '', suffix = ''] = /^[+-]?\d*(?:\.(\d*))?(.*)$/s.exec(text) ?? []
  const exponent = /^[eE]([+-]?\d+)$/.exec(suffix)?.[1] ?? '0'
  return Math.min(fraction.length - (decimalPowers[suffix] ?? Number(exponent)), 9)
}

const toFloat = ({ quantity: { nano }, decimals }: QuantityValue): number =>
  Number(nano / 10n ** BigInt(9 - decimals)) * Number(`1e${-decimals}`)

const parse = (text: string): QuantityValue => {
  try {
    const isSmall = isSmallText(text)
    return new QuantityValue(parseQuantity(text), isSmall, isSmall ? decimalsOf(text) : 9)
  } catch (error) {
    throw new CelError((error as Error).message)
  }
}

const parses = (text: string): boolean => {
  try {
    parseQuantity(text)
    return true
  } catch {
    return false
  }
}

const compare = (a: QuantityValue, b: QuantityValue): number =>
  Math.sign(compareQuantities(a.quantity, b.quantity))

const isInteger = ({ quantity: { nano }, isSmall }: QuantityValue): boolean =>
  isSmall && nano % unit === 0n && BigInt.asIntN(64, nano / unit) === nano / unit

const toInteger = (value: QuantityValue): bigint => {
  if (!isInteger(value)) throw new CelError('cannot convert value to integer')
  return value.quantity.nano / unit
}

const ofInt = (value: bigint, { quantity }: QuantityValue): QuantityValue =>
  new QuantityValue(makeQuantity(value * unit, quantity.format), true, 0)

const plus = (a: QuantityValue, b: QuantityValue, sign = 1n): QuantityValue => {
  const [own, other] = [a.quantity.nano, b.quantity.nano]
  const sum = makeQuantity(own + sign * other, a.quantity.format)
  const decimals =
    other === 0n ? a.decimals : own === 0n ? b.decimals : Math.max(a.decimals, b.decimals)
  return new QuantityValue(sum, a.isSmall && b.isSmall, decimals)
}

export const quantityFunctions: Implementations = {
  string_to_quantity: parse,
  is_quantity_string: parses,
  quantity_sign: ({ quantity: { nano } }: QuantityValue) => (nano < 0n ? -1n : nano > 0n ? 1n : 0n),
  quantity_is_greater_than: (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0,
  quantity_is_less_than: (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0,
  quantity_compare_to: (a: QuantityValue, b: QuantityValue) => BigInt(compare(a, b)),
  quantity_get_float: toFloat,
  quantity_get_int: toInteger,
  quantity_is_integer: isInteger,
  quantity_add: (a: QuantityValue, b: QuantityValue) => plus(a, b),
  quantity_add_int: (a: QuantityValue, b: bigint) => plus(a, ofInt(b, a)),
  quantity_sub: (a: QuantityValue, b: QuantityValue) => plus(a, b, -1n),
  quantity_sub_int: (a: QuantityValue, b: bigint) => plus(a, ofInt(b, a), -1n),
}
