/** Fields and elements of values: `a.b`, `a[b]`, `a.?b`, `has(a.b)` (cel-go, interpreter/attributes.go). */
import { goTypeNameOf } from './go-type-names.js'
import {
  CelError,
  type CelValue,
  isTyped,
  MapValue,
  noSuchOverload,
  Optional,
  StructValue,
  typeNameOf,
  Uint,
} from './values.js'

/** As Go prints a key or an index. */
export const printKey = (key: CelValue): string =>
  key instanceof Uint ? String(key.value) : String(key)

/** Keys and indexes of other types are refused wherever they are looked for (cel-go, newQualifier). */
export const checkKey = (key: CelValue): void => {
  if (typeof key === 'object' && !(key instanceof Uint))
    throw new CelError(`invalid qualifier type: ${goTypeNameOf(key)}`)
}

/** The place in a list; undefined outside of it. */
const elementOf = (list: readonly CelValue[], index: CelValue): CelValue | undefined => {
  const plain = index instanceof Uint ? index.value : index
  if (typeof plain !== 'bigint' && typeof plain !== 'number')
    throw new CelError(`unsupported index type '${typeNameOf(index)}' in list`)
  if (typeof plain === 'number' && !Number.isInteger(plain))
    throw new CelError(`unsupported index value ${plain} in list`)
  return list[Number(plain)]
}

const noSuchKey = (key: CelValue): CelError => new CelError(`no such key: ${printKey(key)}`)

const find = (value: CelValue, key: CelValue): CelValue | undefined => {
  if (value instanceof MapValue) {
    if (isTyped(value) && typeof key !== 'string') throw noSuchOverload()
    return value.get(key)
  }
  if (Array.isArray(value)) return elementOf(value, key)
  if (value instanceof StructValue) return value.fields.get(String(key))
  return undefined
}

/** The value at the key; of an optional, an optional. */
export const select = (value: CelValue, key: CelValue): CelValue => {
  if (value instanceof Optional) return selectOptional(value, key)
  const found = find(value, key)
  if (found !== undefined) {
    if (Array.isArray(value) && isTyped(value) && typeof key !== 'bigint')
      throw new CelError(`unsupported index: ${printKey(key)}`)
    return found
  }
  throw Array.isArray(value)
    ? new CelError(`index out of bounds: ${printKey(key)}`)
    : noSuchKey(key)
}

export const selectOptional = (value: CelValue, key: CelValue): Optional => {
  const target = value instanceof Optional ? value.value : value
  const found = target === undefined ? undefined : find(target, key)
  return found === undefined ? Optional.none : Optional.of(found)
}

export const isPresent = (value: CelValue, key: string): boolean => {
  const target = value instanceof Optional ? value.value : value
  if (target === undefined) return false
  if (Array.isArray(target)) return elementOf(target, key) !== undefined
  const hasFields = target instanceof MapValue || target instanceof StructValue
  return hasFields && find(target, key) !== undefined
}
