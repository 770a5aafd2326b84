/** The operators, on values of whatever types they are given. */
import type { Implementations } from '../evaluation.js'
import { durationOf, timestampOf } from '../times.js'
import {
  CelError,
  type CelValue,
  compareValues,
  concatenate,
  Duration,
  equal,
  isSame,
  isTyped,
  MapValue,
  noSuchOverload,
  sizeOf,
  Timestamp,
  Uint,
} from '../values.js'

const int = (value: bigint): bigint => {
  if (BigInt.asIntN(64, value) !== value) throw new CelError('integer overflow')
  return value
}

export const uint = (value: bigint): Uint => {
  if (BigInt.asUintN(64, value) !== value) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

interface Arithmetic {
  readonly ints: (a: bigint, b: bigint) => bigint
  readonly doubles?: (a: number, b: number) => number
}

/** Both of one numeric type; undefined when they are something else. */
const compute = (a: CelValue, b: CelValue, { ints, doubles }: Arithmetic): CelValue | undefined => {
  if (typeof a === 'bigint' && typeof b === 'bigint') return int(ints(a, b))
  if (a instanceof Uint && b instanceof Uint) return uint(ints(a.value, b.value))
  if (doubles !== undefined && typeof a === 'number' && typeof b === 'number') return doubles(a, b)
  return undefined
}

/** What has no such operator at all is named, unless its type answers calls itself; a wrong second value is not. */
const orNoOverload = (value: CelValue | undefined, a: CelValue, name: string): CelValue => {
  if (value !== undefined) return value
  const isNumber = typeof a === 'bigint' || typeof a === 'number' || a instanceof Uint
  const answers = typeof a === 'string' || a instanceof Duration || a instanceof Timestamp
  throw answers || (isNumber && !(typeof a === 'number' && name === '_%_'))
    ? noSuchOverload()
    : new CelError(`no such overload: ${name}`)
}

export const add = (a: CelValue, b: CelValue): CelValue => {
  const sum = compute(a, b, { ints: (x, y) => x + y, doubles: (x, y) => x + y })
  if (sum !== undefined) return sum
  if (typeof a === 'string' && typeof b === 'string') return a + b
  if (Array.isArray(a) && Array.isArray(b)) return concatenate(a, b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.concat([a, b])
  if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos + b.nanos)
  if (a instanceof Duration && b instanceof Timestamp)
    return timestampOf(a.nanos + b.nanos, b.offsetMinutes)
  if (a instanceof Timestamp && b instanceof Duration)
    return timestampOf(a.nanos + b.nanos, a.offsetMinutes)
  const hasNone = a === null || typeof a === 'boolean' || a instanceof MapValue
  throw hasNone ? new CelError('no such overload: _+_') : noSuchOverload()
}

const subtract = (a: CelValue, b: CelValue): CelValue => {
  if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos - b.nanos)
  if (a instanceof Timestamp && b instanceof Duration)
    return timestampOf(a.nanos + durationOf(-b.nanos).nanos, a.offsetMinutes)
  if (a instanceof Timestamp && b instanceof Timestamp) return durationOf(a.nanos - b.nanos)
  const difference = compute(a, b, { ints: (x, y) => x - y, doubles: (x, y) => x - y })
  return orNoOverload(difference, a, '_-_')
}

const divide =
  (why: string, apply: (a: bigint, b: bigint) => bigint) =>
  (a: bigint, b: bigint): bigint => {
    if (b === 0n) throw new CelError(why)
    return apply(a, b)
  }

/** Where the quotient is no int, there is no remainder either. */
const modulo = (a: bigint, b: bigint): bigint => {
  if (b === -1n) int(-a)
  return a % b
}

const negate = (a: CelValue): CelValue => {
  if (typeof a === 'bigint') return int(-a)
  if (typeof a === 'number') return -a
  if (a instanceof Duration) return durationOf(-a.nanos)
  throw noSuchOverload()
}

const comparer =
  (name: string, holds: (order: number) => boolean) =>
  (a: CelValue, b: CelValue): boolean => {
    if (a === null || Array.isArray(a) || a instanceof MapValue)
      throw new CelError(`no such overload: ${name}`)
    return holds(compareValues(a, b))
  }

/** With a schema items are asked, and what one of them cannot answer counts unless another is the one. */
const typedHas = (list: readonly CelValue[], item: CelValue): boolean => {
  if (list.some((other) => isSame(other, item))) return true
  for (const other of list) equal(other, item)
  return false
}

export const contains = (list: readonly CelValue[], item: CelValue): boolean =>
  isTyped(list) ? typedHas(list, item) : list.some((other) => isSame(item, other))

const isIn = (item: CelValue, container: CelValue): boolean => {
  if (Array.isArray(container)) return contains(container, item)
  if (!(container instanceof MapValue)) throw noSuchOverload()
  if (isTyped(container) && typeof item !== 'string') throw noSuchOverload()
  return container.has(item)
}

const size = (value: CelValue): bigint => {
  const found = sizeOf(value)
  if (found === undefined) throw new CelError('no such overload: size')
  return BigInt(found)
}

export const operators: Implementations = {
  '_==_': equal,
  // What nobody can compare is not equal.
  '_!=_': (a: CelValue, b: CelValue) => !isSame(a, b),
  '_<_': comparer('_<_', (order) => order < 0),
  '_<=_': comparer('_<=_', (order) => order <= 0),
  '_>_': comparer('_>_', (order) => order > 0),
  '_>=_': comparer('_>=_', (order) => order >= 0),
  '_+_': add,
  '_-_': subtract,
  '_*_': (a: CelValue, b: CelValue) =>
    orNoOverload(compute(a, b, { ints: (x, y) => x * y, doubles: (x, y) => x * y }), a, '_*_'),
  '_/_': (a: CelValue, b: CelValue) =>
    orNoOverload(
      compute(a, b, {
        ints: divide('division by zero', (x, y) => x / y),
        doubles: (x, y) => x / y,
      }),
      a,
      '_/_',
    ),
  '_%_': (a: CelValue, b: CelValue) =>
    orNoOverload(compute(a, b, { ints: divide('modulus by zero', modulo) }), a, '_%_'),
  '-_': negate,
  '!_': (a: CelValue) => {
    if (typeof a !== 'boolean') throw noSuchOverload()
    return !a
  },
  '@in': isIn,
  size,
}
