/** Values of CEL at run time. Ints are BigInt, doubles are numbers; what JavaScript has no type for has a class here. */
import { work } from './work.js'

/** Evaluation ended in an error; the message is upstream's. */
export class CelError extends Error {}

export const noSuchOverload = (): CelError => new CelError('no such overload')

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class Timestamp {
  /** Since 1970. */
  readonly nanos: bigint
  /** The zone it was written in. */
  readonly offsetMinutes: number
  constructor(nanos: bigint, offsetMinutes: number) {
    this.nanos = nanos
    this.offsetMinutes = offsetMinutes
  }
}

export class TypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export class Optional {
  static readonly none = new Optional(undefined)
  readonly value: CelValue | undefined
  private constructor(value: CelValue | undefined) {
    this.value = value
  }
  static of(value: CelValue): Optional {
    return new Optional(value)
  }
}

/** A message made by `Name{field: value}`. */
export class StructValue {
  readonly typeName: string
  readonly fields: ReadonlyMap<string, CelValue>
  constructor(typeName: string, fields: ReadonlyMap<string, CelValue>) {
    this.typeName = typeName
    this.fields = fields
  }
}

/** A value of one of Kubernetes' own types: an URL, an address, a quantity. */
export abstract class KubernetesValue {
  abstract readonly typeName: string
  /** What `==` says about another value of the same type. */
  abstract equals(other: this): boolean
  /** For costs; 1 for what has none. */
  get size(): number {
    return 1
  }
}

export abstract class MapValue {
  abstract get(key: CelValue): CelValue | undefined
  /** Objects with a schema have keys that they do not find again. */
  abstract keys(): CelValue[]
  valueAt(key: CelValue): CelValue {
    const value = this.get(key)
    if (value !== undefined) return value
    throw key === null ? noSuchOverload() : new CelError(`no such key: ${String(key)}`)
  }
  abstract readonly size: number
  /** What `in` says; a map may yield values for keys that are not in it. */
  has(key: CelValue): boolean {
    return this.get(key) !== undefined
  }
  /** What `==` says about another map. */
  equals(other: MapValue): boolean {
    return (
      this.size === other.size &&
      this.keys().every((key) => {
        const value = other.get(key)
        return value !== undefined && partsEqual(this, this.get(key)!, value)
      })
    )
  }
}

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | readonly CelValue[]
  | MapValue
  | Uint
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | StructValue
  | KubernetesValue

/** Of types that are no keys, upstream takes any value, but finds none of it again but null. */
export const keyOf = (key: CelValue): unknown => {
  if (typeof key === 'string') return `s${key}`
  if (typeof key === 'boolean') return `b${key}`
  if (typeof key === 'bigint') return `i${key}`
  if (key instanceof Uint) return `u${key.value}`
  if (typeof key === 'number') return Number.isNaN(key) ? {} : `d${key}`
  return key
}

/** Keys of other types that are found, too: those of doubles by nothing else (cel-go, refValMapAccessor.Find). */
const likeKeysOf = (key: CelValue): string[] => {
  if (typeof key === 'bigint') return [`u${key}`]
  if (key instanceof Uint) return [`i${key.value}`]
  return Number.isInteger(key) ? [`i${BigInt(key as number)}`, `u${BigInt(key as number)}`] : []
}

/** A map made in an expression. */
export class EntryMap extends MapValue {
  readonly #entries = new Map<unknown, readonly [CelValue, CelValue]>()

  /** False when the key is there already. */
  add(key: CelValue, value: CelValue): boolean {
    if (this.get(key) !== undefined) return false
    this.set(key, value)
    return true
  }
  /** Whether or not the key is there already. */
  set(key: CelValue, value: CelValue): void {
    this.#entries.set(keyOf(key), [key, value])
  }
  delete(key: CelValue): void {
    this.#entries.delete(keyOf(key))
  }
  get(key: CelValue): CelValue | undefined {
    let found = this.#entries.get(keyOf(key))
    if (found === undefined) for (const like of likeKeysOf(key)) found ??= this.#entries.get(like)
    return found?.[1]
  }
  keys(): CelValue[] {
    return [...this.#entries.values()].map(([key]) => key)
  }
  get size(): number {
    return this.#entries.size
  }
}

const typeNameOfObject = (value: object): string => {
  if (Array.isArray(value)) return 'list'
  if (value instanceof MapValue) return 'map'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'optional_type'
  return (value as StructValue | KubernetesValue).typeName
}

/** The name of the value's type, as `type()` gives it. */
export const typeNameOf = (value: CelValue): string => {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'string':
      return 'string'
    default:
      return value === null ? 'null_type' : typeNameOfObject(value)
  }
}

const numberOf = (value: CelValue): bigint | number | undefined =>
  typeof value === 'bigint' || typeof value === 'number'
    ? value
    : value instanceof Uint
      ? value.value
      : undefined

/** Lists and maps with a schema (apiserver, pkg/cel/common): upstream compares them with their like alone. */
const typed = new WeakSet<object>()
export const asTyped = <T extends object>(value: T): T => {
  typed.add(value)
  return value
}
export const isTyped = (value: object): boolean => typed.has(value)

/** Lists of custom resources that have no order: sets, and lists whose items are told apart by keys. */
export interface ListKind {
  /** A set has no item twice; in a map a later one is put in the place of that with its keys. */
  readonly isSet: boolean
  /** What its items are told apart by. */
  readonly identities: () => readonly string[]
  /** The same of an item of another list; undefined for what never is one of these. */
  readonly identityOf: (item: CelValue) => string | undefined
}
const listKinds = new WeakMap<readonly CelValue[], ListKind>()
export const withListKind = (
  list: readonly CelValue[],
  kind: ListKind | undefined,
): readonly CelValue[] => {
  if (kind !== undefined) listKinds.set(list, kind)
  return list
}

const placesIn = ({ identities }: ListKind): Map<string, number> =>
  new Map(identities().map((identity, at) => [identity, at]))

/** `+`: what a set has already is not added, and what a map has by its keys is put in its place. */
export const concatenate = (
  a: readonly CelValue[],
  b: readonly CelValue[],
): readonly CelValue[] => {
  work(a.length + b.length)
  const kind = listKinds.get(a)
  if (kind === undefined) return isTyped(a) ? asTyped([...a, ...b]) : [...a, ...b]
  const { isSet, identityOf } = kind
  const result = [...a]
  const identities = [...kind.identities()]
  const places = placesIn(kind)
  for (const item of b) {
    const identity = identityOf(item) ?? `#${result.length}`
    const at = places.get(identity)
    if (at === undefined) {
      if (isSet) places.set(identity, result.length)
      identities.push(identity)
      result.push(item)
    } else if (!isSet) result[at] = item
  }
  return asTyped(withListKind(result, { isSet, identityOf, identities: () => identities }))
}

/** A question that has no answer is one of no. */
export const isSame = (a: CelValue, b: CelValue): boolean => {
  try {
    return equal(a, b)
  } catch (error) {
    if (error instanceof CelError) return false
    throw error
  }
}

/** Of what has no schema, parts that nobody can compare are taken for equal (cel-go, baseList.Equal and baseMap.Equal). */
const partsEqual = (whole: object, a: CelValue, b: CelValue): boolean => {
  try {
    return equal(a, b)
  } catch (error) {
    if (error instanceof CelError && !isTyped(whole)) return true
    throw error
  }
}

const listsEqual = (a: readonly CelValue[], b: readonly CelValue[]): boolean => {
  if (a.length !== b.length) return false
  const kind = listKinds.get(a)
  if (kind === undefined) return a.every((item, i) => partsEqual(a, item, b[i]!))
  const places = placesIn(kind)
  return b.every((item) => {
    const at = places.get(kind.identityOf(item) ?? '')
    return at !== undefined && (kind.isSet || equal(a[at]!, item))
  })
}

const structsEqual = (a: StructValue, b: StructValue): boolean =>
  a.typeName === b.typeName &&
  a.fields.size === b.fields.size &&
  [...a.fields].every(([name, value]) => {
    const other = b.fields.get(name)
    return other !== undefined && equal(value, other)
  })

/** What is of another kind is another value, or no question for what has a schema. */
const unlike = (a: object): false => {
  if (typed.has(a)) throw noSuchOverload()
  return false
}

const objectsEqual = (a: object, b: CelValue): boolean => {
  if (a instanceof KubernetesValue) {
    if (!(b instanceof KubernetesValue) || a.typeName !== b.typeName) throw noSuchOverload()
    return a.equals(b)
  }
  if (Array.isArray(a)) return Array.isArray(b) ? listsEqual(a, b) : unlike(a)
  if (a instanceof MapValue) return b instanceof MapValue ? a.equals(b) : unlike(a)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof StructValue) return b instanceof StructValue && structsEqual(a, b)
  if (!(a instanceof Optional) || !(b instanceof Optional)) return false
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return equal(a.value, b.value)
}

/** `==`: numbers are equal across types, other types only to themselves. */
export const equal = (a: CelValue, b: CelValue): boolean => {
  work(1)
  if (a === null || b === null) return a === b
  const left = numberOf(a)
  if (left !== undefined) {
    const right = numberOf(b)
    return right !== undefined && orderNumbers(left, right) === 0
  }
  return typeof a === 'object' ? objectsEqual(a, b) : a === b
}

export const order = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

/** An int is compared with a double as the double next to it; NaN is not equal to anything. */
const orderNumbers = (a: bigint | number, b: bigint | number): number => {
  if (typeof a === typeof b) return Number.isNaN(a) || Number.isNaN(b) ? 1 : order(a, b)
  return orderNumbers(Number(a), Number(b))
}

/** Strings are ordered by code points, as their UTF-8 is. */
const orderStrings = (a: string, b: string): number =>
  /[\ud800-\udfff]/.test(a + b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : order(a, b)

/** Less than, equal, greater than: -1, 0, 1. */
export const compareValues = (a: CelValue, b: CelValue): number => {
  const left = numberOf(a)
  if (left !== undefined) {
    const right = numberOf(b)
    if (right === undefined) throw noSuchOverload()
    if (Number.isNaN(left) || Number.isNaN(right))
      throw new CelError('NaN values cannot be ordered')
    return orderNumbers(left, right)
  }
  if (typeof a === 'string' && typeof b === 'string') return orderStrings(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return order(a, b)
  if (a instanceof Timestamp && b instanceof Timestamp) return order(a.nanos, b.nanos)
  if (a instanceof Duration && b instanceof Duration) return order(a.nanos, b.nanos)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  throw noSuchOverload()
}

const hasPairs = (text: string): boolean => /[\ud800-\udbff]/.test(text)

export const codePointsOf = (text: string): string[] => {
  work(text.length)
  return [...text]
}

export const codePointAt = (text: string, index: number): string | undefined =>
  hasPairs(text) ? codePointsOf(text)[index] : text[index]

const codePointCount = (text: string): number => {
  // It is asked for before each call.
  work(text.length / 100)
  if (!hasPairs(text)) return text.length
  work(text.length / 10)
  let count = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) count++
  return count
}

/** `size()`, and what costs are counted by; undefined for what has no size. */
export const sizeOf = (value: CelValue): number | undefined => {
  if (typeof value === 'string') return codePointCount(value)
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length
  if (value instanceof MapValue) return value.size
  return undefined
}
