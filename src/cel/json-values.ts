/** JSON as CEL sees it, turned into values only where an expression looks. */
import { int64Of } from '#json/int64.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { formatDuration, formatTimestamp } from './times.js'
import {
  type CelValue,
  Duration,
  MapValue,
  Optional,
  StructValue,
  Timestamp,
  typeNameOf,
  Uint,
} from './values.js'

/** Gives the value of a field; undefined hides it. */
export type FieldReader = (key: string, value: JsonValue) => CelValue | undefined

/** A JSON object; what was read once is kept. */
export class ObjectMap extends MapValue {
  readonly source: JsonObject
  readonly #read: FieldReader
  readonly #values = new Map<string, CelValue | undefined>()
  #keys: string[] | undefined

  constructor(source: JsonObject, read: FieldReader = (_key, value) => fromJson(value)) {
    super()
    this.source = source
    this.#read = read
  }
  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.source, key)) return undefined
    if (!this.#values.has(key)) this.#values.set(key, this.#read(key, this.source[key]!))
    return this.#values.get(key)
  }
  keys(): CelValue[] {
    this.#keys ??= Object.keys(this.source).filter((key) => this.get(key) !== undefined)
    return this.#keys
  }
  get size(): number {
    return this.keys().length
  }
}

/** A value without a schema: whole numbers are ints. */
export const fromJson = (value: JsonValue | undefined): CelValue => {
  if (value === undefined || value === null) return null
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object') return value
  return Array.isArray(value) ? value.map(fromJson) : new ObjectMap(value)
}

/** A value without a form in JSON; the message is upstream's. */
export class NotJsonError extends Error {}

const keyText = (key: CelValue): string => {
  if (typeof key === 'string') return key
  throw new NotJsonError(`unsupported type conversion from '${typeNameOf(key)}' to string`)
}

/** What an expression made, as JSON. */
export const toJson = (value: CelValue): JsonValue => {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return int64Of(value)
  if (value instanceof Uint) return int64Of(value.value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof ObjectMap) return value.source
  if (value instanceof MapValue)
    return Object.fromEntries(value.keys().map((key) => [keyText(key), toJson(value.get(key)!)]))
  if (value instanceof StructValue)
    return Object.fromEntries([...value.fields].map(([name, field]) => [name, toJson(field)]))
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value)
  const name = typeNameOf(value).replace(/^.*\.(?:Named)?/, '')
  throw new NotJsonError(
    name === 'type'
      ? "type conversion not supported for 'type'"
      : `type conversion error from '${name}' to '*structpb.Value'`,
  )
}
