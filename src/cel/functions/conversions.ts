/** `int(…)`, `string(…)` and the like (cel-go, common/types, ConvertToType). */
import { parseHexFloat } from '#go/hex-float.js'
import { formatDouble } from '#go/number.js'
import { limits } from '#limits'
import type { Implementations } from '../evaluation.js'
import {
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  secondsOf,
  timestampOf,
} from '../times.js'
import {
  CelError,
  type CelValue,
  type Duration,
  type Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
} from '../values.js'
import { uint } from './operators.js'

const failed = (value: CelValue, to: string): CelError =>
  new CelError(`type conversion error from '${typeNameOf(value)}' to '${to}'`)

const same = (value: CelValue): CelValue => value

const overflow = (): CelError => new CelError('integer overflow')

const parseDigits = (text: string): bigint | undefined => {
  if (!/^\d+$/.test(text)) return undefined
  const from = text.search(/[1-9]/)
  if (from < 0) return 0n
  return text.length - from > limits.uint64DigitsMax ? undefined : BigInt(text.slice(from))
}

const stringToInt = (text: string): bigint => {
  const size = parseDigits(/^[+-]/.test(text) ? text.slice(1) : text)
  const value = size !== undefined && text.startsWith('-') ? -size : size
  if (value === undefined || BigInt.asIntN(64, value) !== value) throw failed(text, 'int')
  return value
}

const stringToUint = (text: string): Uint => {
  const value = parseDigits(text)
  if (value === undefined || BigInt.asUintN(64, value) !== value) throw failed(text, 'uint')
  return new Uint(value)
}

const digits = String.raw`\d+(?:_\d+)*`
const doubleShape = new RegExp(
  `^[+-]?(?:${digits}(?:\\.(?:${digits})?)?|\\.${digits})(?:[eE][+-]?${digits})?$`,
)
const stringToDouble = (text: string): number => {
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^nan$/i.test(text)) return Number.NaN
  const value = doubleShape.test(text) ? Number(text.replaceAll('_', '')) : parseHexFloat(text)
  if (value === undefined || !Number.isFinite(value)) throw failed(text, 'double')
  return value
}

const stringToBool = (text: string): boolean => {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false
  throw failed(text, 'bool')
}

const doubleToInt = (value: number): bigint => {
  // The ends of the range cannot be told from what lies beyond them.
  if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) throw overflow()
  return BigInt(Math.trunc(value))
}

const doubleToUint = (value: number): Uint => {
  if (!Number.isFinite(value) || value < 0 || value >= 2 ** 64)
    throw new CelError('unsigned integer overflow')
  return new Uint(BigInt(Math.trunc(value)))
}

const bytesToString = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

const stringToDuration = (text: string): Duration => {
  const duration = parseDuration(text)
  if (duration === undefined) throw failed(text, 'google.protobuf.Duration')
  return duration
}

const stringToTimestamp = (text: string): Timestamp => {
  const timestamp = parseTimestamp(text)
  if (timestamp === undefined) throw failed(text, 'google.protobuf.Timestamp')
  return timestamp
}

const uintToInt = ({ value }: Uint): bigint => {
  if (BigInt.asIntN(64, value) !== value) throw overflow()
  return value
}

export const conversionFunctions: Implementations = {
  type: (value: CelValue) => new TypeValue(typeNameOf(value)),
  to_dyn: same,
  bool_to_bool: same,
  string_to_bool: stringToBool,
  bytes_to_bytes: same,
  string_to_bytes: (text: string) => Buffer.from(text),
  double_to_double: same,
  int64_to_double: (value: bigint) => Number(value),
  string_to_double: stringToDouble,
  uint64_to_double: ({ value }: Uint) => Number(value),
  duration_to_duration: same,
  // Declared, and yet never converted.
  int64_to_duration: (value: bigint) => {
    throw failed(value, 'google.protobuf.Duration')
  },
  string_to_duration: stringToDuration,
  int64_to_int64: same,
  double_to_int64: doubleToInt,
  duration_to_int64: ({ nanos }: Duration) => nanos,
  string_to_int64: stringToInt,
  timestamp_to_int64: secondsOf,
  uint64_to_int64: uintToInt,
  string_to_string: same,
  bool_to_string: String,
  bytes_to_string: bytesToString,
  double_to_string: formatDouble,
  duration_to_string: formatDuration,
  int64_to_string: String,
  timestamp_to_string: formatTimestamp,
  uint64_to_string: ({ value }: Uint) => String(value),
  timestamp_to_timestamp: same,
  int64_to_timestamp: (value: bigint) => timestampOf(value * 1_000_000_000n),
  string_to_timestamp: stringToTimestamp,
  uint64_to_uint64: same,
  double_to_uint64: doubleToUint,
  int64_to_uint64: (value: bigint) => uint(value),
  string_to_uint64: stringToUint,
}
