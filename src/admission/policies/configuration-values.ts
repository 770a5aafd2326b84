/** Values of CEL in an applied configuration: upstream merges the Go values behind them, which not every type takes. */

import { formatTimestamp } from '#cel/times.js'
import {
  type CelValue,
  Duration,
  EntryMap,
  MapValue,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
} from '#cel/values.js'
import { printedDuration } from '#go/duration.js'
import type { FieldType } from '#registry/field-manager/field-type.js'
import { fieldElement, printElement } from '#registry/field-manager/path-element.js'

/** A value that structured-merge-diff takes for no scalar, as Go prints it: with %v, with %#v, and its type. */
interface GoValue {
  readonly printed: string
  readonly syntax: string
  readonly type: string
}

const months =
  'January February March April May June July August September October November December'.split(' ')

const second = 1_000_000_000n
const nanosOfSecond = (nanos: bigint): bigint => ((nanos % second) + second) % second

const goTime = (value: Timestamp): GoValue => {
  const [date, time] = formatTimestamp(value).replace('Z', '').split('T') as [string, string]
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const clock = time.split(':').map((part) => Math.trunc(Number(part)))
  const parts = [...clock, nanosOfSecond(value.nanos)].join(', ')
  return {
    printed: `${date} ${time} +0000 UTC`,
    syntax: `time.Date(${year}, time.${months[month - 1]}, ${day}, ${parts}, time.UTC)`,
    type: 'time.Time',
  }
}

const goValue = (value: CelValue): GoValue | undefined => {
  if (value === null) return { printed: 'NULL_VALUE', syntax: '0', type: 'structpb.NullValue' }
  if (value instanceof Timestamp) return goTime(value)
  if (value instanceof Duration) {
    const { nanos } = value
    return {
      printed: printedDuration(Number(nanos) / 1e6),
      syntax: String(nanos),
      type: 'time.Duration',
    }
  }
  if (value instanceof Uint) {
    const syntax = `0x${value.value.toString(16)}`
    return { printed: String(value.value), syntax, type: 'uint64' }
  }
  if (!(value instanceof Uint8Array)) return undefined
  const bytes = [...value].map((byte) => `0x${byte.toString(16)}`)
  return {
    printed: `[${value.join(' ')}]`,
    syntax: `[]uint8{${bytes.join(', ')}}`,
    type: '[]uint8',
  }
}

const problemOf = ({ printed, syntax, type }: GoValue, wanted: FieldType): string | undefined => {
  if (wanted.map !== undefined) return `expected map, got &{${printed}}`
  if (wanted.list !== undefined) return `expected list, got &{${printed}}`
  switch (wanted.scalar) {
    case 'numeric':
      return `expected numeric (int or float), got ${type}`
    case 'string':
      return `expected string, got &value.valueUnstructured{Value:${syntax}}`
    case 'boolean':
      return `expected boolean, got &{${printed}}`
    case undefined:
      return undefined
    default:
      return `expected any scalar, got &{${printed}}`
  }
}

/** What of a configuration fits no type, in structured-merge-diff's words. */
export const misfit = (
  value: CelValue,
  type: FieldType | undefined,
  path: string,
): string | undefined => {
  const foreign = goValue(value)
  if (foreign !== undefined) {
    const problem = type && problemOf(foreign, type)
    return problem && `${path}: ${problem}`
  }
  const entries: [string, CelValue][] =
    value instanceof StructValue
      ? [...value.fields]
      : value instanceof MapValue
        ? value.keys().map((key) => [String(key), value.get(key)!])
        : []
  for (const [key, inner] of entries) {
    const under = type?.map?.field(key)?.type ?? type?.map?.element
    const found = misfit(inner, under, `${path}${printElement(fieldElement(key))}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** Nothing is merged from a map with keys that are no text. */
export const hasForeignKeys = ({ fields }: StructValue): boolean =>
  [...fields.values()].some(
    (field) => field instanceof MapValue && field.keys().some((key) => typeof key !== 'string'),
  )

/** A type is its name where a value is wanted. */
export const withTypeNames = (value: CelValue): CelValue => {
  if (value instanceof TypeValue) return value.name
  if (value instanceof StructValue) {
    const fields = [...value.fields].map(([name, field]) => [name, withTypeNames(field)] as const)
    return new StructValue(value.typeName, new Map(fields))
  }
  if (!(value instanceof EntryMap)) return value
  const map = new EntryMap()
  for (const key of value.keys()) map.add(key, withTypeNames(value.get(key)!))
  return map
}
