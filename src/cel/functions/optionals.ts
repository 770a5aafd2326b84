/** Values that may be missing (cel-go, cel/library.go, OptionalTypes). */
import type { Implementations } from '../evaluation.js'
import {
  CelError,
  type CelValue,
  Duration,
  isTyped,
  Optional,
  StructValue,
  sizeOf,
  Timestamp,
  Uint,
} from '../values.js'

/** Of lists and maps with a schema nobody asks whether they are empty. */
const isZero = (value: CelValue): boolean => {
  if (typeof value === 'object' && value !== null && isTyped(value)) return false
  if (value === null || value === false || value === 0n || value === 0) return true
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof Timestamp) return value.nanos === -62_135_596_800_000_000_000n
  if (value instanceof StructValue) return value.fields.size === 0
  return sizeOf(value) === 0
}

const ofElement = (value: CelValue | undefined): Optional =>
  value === undefined ? Optional.none : Optional.of(value)

const unwrap = (list: readonly CelValue[]): CelValue =>
  list.flatMap((item) => {
    if (!(item instanceof Optional)) throw new CelError(`value ${String(item)} is not optional`)
    return item.value === undefined ? [] : [item.value]
  })

export const optionalFunctions: Implementations = {
  optional_of: (value: CelValue) => Optional.of(value),
  optional_ofNonZeroValue: (value: CelValue) =>
    isZero(value) ? Optional.none : Optional.of(value),
  optional_none: () => Optional.none,
  optional_value: ({ value }: Optional) => {
    if (value === undefined) throw new CelError('optional.none() dereference')
    return value
  },
  optional_hasValue: ({ value }: Optional) => value !== undefined,
  optional_or_optional: (a: Optional, b: Optional) => (a.value === undefined ? b : a),
  optional_orValue_value: (a: Optional, b: CelValue) => a.value ?? b,
  list_first: (list: readonly CelValue[]) => ofElement(list[0]),
  list_last: (list: readonly CelValue[]) => ofElement(list.at(-1)),
  optional_unwrap: unwrap,
  optional_unwrapOpt: unwrap,
}
