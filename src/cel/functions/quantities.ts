/** Quantities (apiserver, pkg/cel/library/quantity.go). */
import { compareQuantities, makeQuantity, parseQuantity, type Quantity } from '#api/quantity.js'
import type { Implementations } from '../evaluation.js'
import { CelError, KubernetesValue } from '../values.js'

const unit = 1_000_000_000n

export class QuantityValue extends KubernetesValue {
  readonly typeName = 'kubernetes.Quantity'
  readonly quantity: Quantity
  constructor(quantity: Quantity) {
    super()
    this.quantity = quantity
  }
  equals(other: this): boolean {
    return this.quantity.nano === other.quantity.nano
  }
}

const parse = (text: string): QuantityValue => {
  try {
    return new QuantityValue(parseQuantity(text))
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

const isInteger = ({ quantity: { nano } }: QuantityValue): boolean =>
  nano % unit === 0n && BigInt.asIntN(64, nano / unit) === nano / unit

const toInteger = (value: QuantityValue): bigint => {
  if (!isInteger(value)) throw new CelError('cannot convert value to integer')
  return value.quantity.nano / unit
}

const plus = ({ quantity }: QuantityValue, nano: bigint): QuantityValue =>
  new QuantityValue(makeQuantity(quantity.nano + nano, quantity.format))

export const quantityFunctions = {
  string_to_quantity: parse,
  is_quantity_string: parses,
  quantity_sign: ({ quantity: { nano } }: QuantityValue) => (nano < 0n ? -1n : nano > 0n ? 1n : 0n),
  quantity_is_greater_than: (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0,
  quantity_is_less_than: (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0,
  quantity_compare_to: (a: QuantityValue, b: QuantityValue) => BigInt(compare(a, b)),
  quantity_get_float: ({ quantity: { nano } }: QuantityValue) => Number(nano) / 1e9,
  quantity_get_int: toInteger,
  quantity_is_integer: isInteger,
  quantity_add: (a: QuantityValue, b: QuantityValue) => plus(a, b.quantity.nano),
  quantity_add_int: (a: QuantityValue, b: bigint) => plus(a, b * unit),
  quantity_sub: (a: QuantityValue, b: QuantityValue) => plus(a, -b.quantity.nano),
  quantity_sub_int: (a: QuantityValue, b: bigint) => plus(a, -b * unit),
} as unknown as Implementations
