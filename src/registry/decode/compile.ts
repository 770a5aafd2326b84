/**
 * Decoding of well-formed values, compiled to one closure a type at first use: checks, prunes, and normalises as a
 * round trip through the Go struct does. What is not well-formed only raises `state.problem`; explain.ts finds the words.
 */

import { isJsonObject, setOwn } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { schemaNames } from '#openapi/schemas.js'
import { isInt32, readCustom, zeroCustom } from './custom.js'
import { type GoField, type GoType, goFieldsOf } from './go-type.js'

export interface DecodeState {
  /** Something was of a wrong type, unknown or ambiguous: the result is not complete. */
  problem: boolean
}

/** `value` is not null. */
export type Decode = (value: JsonValue, state: DecodeState) => JsonValue

const refuse = (state: DecodeState): JsonValue => {
  state.problem = true
  return null
}

const scalarDecoders: Readonly<Record<'string' | 'int32' | 'int64' | 'float64' | 'bool', Decode>> =
  {
    string: (value, state) => (typeof value === 'string' ? value : refuse(state)),
    bool: (value, state) => (typeof value === 'boolean' ? value : refuse(state)),
    int32: (value, state) => (isInt32(value) ? value : refuse(state)),
    int64: (value, state) =>
      (typeof value === 'number' && Number.isSafeInteger(value)) ||
      (typeof value === 'bigint' && BigInt.asIntN(64, value) === value)
        ? value
        : refuse(state),
    float64: (value, state) =>
      typeof value === 'bigint'
        ? Number(value)
        : typeof value === 'number' && Number.isFinite(value)
          ? value
          : refuse(state),
  }

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Go's decoder skips line breaks and ignores spare bits; what it writes has neither. */
export const canonicalBase64 = (text: string): string | undefined => {
  const plain = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text
  if (plain.length % 4 !== 0 || !base64.test(plain)) return undefined
  return plain.endsWith('=') ? Buffer.from(plain, 'base64').toString('base64') : plain
}

const decodeBytes: Decode = (value, state) =>
  (typeof value === 'string' ? canonicalBase64(value) : undefined) ?? refuse(state)

const zeroScalar = { string: '', bool: false, int32: 0, int64: 0, float64: 0 } as const

/** What Go has where nothing is given: for elements of lists and maps that are null. */
const zeroOf = (type: GoType): JsonValue => {
  switch (type.form) {
    case 'scalar':
      return zeroScalar[type.scalar]
    case 'bytes':
      return ''
    case 'custom':
      return zeroCustom[type.custom]
    case 'struct':
      return structDecoder(type.key)({}, { problem: false })
    default:
      return null
  }
}

const decodeSlice = (item: GoType): Decode => {
  const decodeItem = decoderOf(item)
  return (value, state) => {
    if (!Array.isArray(value)) return refuse(state)
    const result: JsonValue[] = []
    for (const element of value)
      result.push(element === null ? zeroOf(item) : decodeItem(element, state))
    return result
  }
}

const decodeMap = (type: GoType): Decode => {
  const decodeValue = decoderOf(type)
  return (value, state) => {
    if (!isJsonObject(value)) return refuse(state)
    const result: JsonObject = {}
    const keys = Object.keys(value)
    // Go writes maps in the order of their keys.
    if (keys.length > 1) keys.sort()
    for (const key of keys) {
      const element = value[key]!
      setOwn(result, key, element === null ? zeroOf(type) : decodeValue(element, state))
    }
    return result
  }
}

type Emptiness = 'never' | 'scalar' | 'list' | 'map'

interface CompiledField {
  readonly name: string
  readonly decode: Decode
  readonly empty: Emptiness
  /** What stands for nothing; undefined: the field is left out. */
  readonly absent: (() => JsonValue) | undefined
  /** What stands for an empty list or map, or a zero: undefined is left out. */
  readonly whenEmpty: JsonValue | undefined
  /** An empty list or map stays one, until empty-lists.ts forgets it. */
  readonly keepsEmpty: boolean
}

const emptinessOf = (field: GoField): Emptiness => {
  if (field.pointer) return 'never'
  switch (field.type.form) {
    case 'slice':
      return 'list'
    case 'map':
      return 'map'
    case 'scalar':
    case 'bytes':
      return 'scalar'
    default:
      return 'never'
  }
}

const absentOf = (field: GoField): (() => JsonValue) | undefined => {
  const { type } = field
  if (field.default !== undefined) return () => field.default!
  if (field.omitZero) return undefined
  if (field.pointer) return field.omitEmpty ? undefined : () => null
  // omitempty never leaves a struct out.
  if (type.form === 'struct') return () => structDecoder(type.key)({}, { problem: false })
  if (type.form === 'custom') return () => zeroCustom[type.custom]
  if (field.omitEmpty) return undefined
  return type.form === 'scalar' ? () => zeroScalar[type.scalar] : () => null
}

/**
 * Lists that omitempty drops when they are written, and whose emptiness means something before: defaults fill in what
 * is nil, validation refuses what is empty, so that none is ever stored.
 */
const emptyIsNotNil = new Set(['autoscaling.v2.HPAScalingRules.policies'])

const compileField = (field: GoField, owner: string): CompiledField => {
  const isScalar = field.type.form === 'scalar'
  const zero = field.type.form === 'scalar' ? zeroScalar[field.type.scalar] : null
  return {
    name: field.name,
    decode: decoderOf(field.type),
    empty: emptinessOf(field),
    absent: absentOf(field),
    whenEmpty: field.default ?? (field.omitEmpty ? undefined : isScalar ? zero : null),
    keepsEmpty:
      (!field.omitEmpty && (field.type.form === 'slice' || field.type.form === 'map')) ||
      emptyIsNotNil.has(`${owner}.${field.name}`),
  }
}

const isEmpty = (how: Emptiness, value: JsonValue): boolean => {
  switch (how) {
    case 'never':
      return false
    case 'scalar':
      return value === '' || value === 0 || value === false
    case 'list':
      return (value as JsonValue[]).length === 0
    default:
      for (const _key in value as JsonObject) return false
      return true
  }
}

const assemble = (fields: readonly CompiledField[], slots: JsonValue[]): JsonObject => {
  const result: JsonObject = {}
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!
    const value = slots[at]
    if (value === undefined) {
      if (field.absent !== undefined) result[field.name] = field.absent()
    } else if (field.empty !== 'never' && value !== null && isEmpty(field.empty, value)) {
      const kept = field.keepsEmpty ? value : field.whenEmpty
      if (kept !== undefined) result[field.name] = kept
    } else result[field.name] = value
  }
  return result
}

const compileStruct = (key: string): Decode => {
  const fields = goFieldsOf(key).map((field) => compileField(field, key))
  const indexes = new Map(fields.map((field, at) => [field.name, at]))
  return (value, state) => {
    if (!isJsonObject(value)) return refuse(state)
    const slots = new Array<JsonValue>(fields.length)
    for (const name in value) {
      const at = indexes.get(name)
      const given = value[name]!
      if (at === undefined) state.problem = true
      else if (given !== null) slots[at] = fields[at]!.decode(given, state)
    }
    return assemble(fields, slots)
  }
}

const structs = new Map<string, Decode>()

const structDecoder = (key: string): Decode => {
  let decode = structs.get(key)
  if (decode === undefined) {
    // Schemas of schemas contain themselves: the name is taken before the fields are compiled.
    let compiled: Decode | undefined
    decode = (value, state) => {
      compiled ??= compileStruct(key)
      return compiled(value, state)
    }
    structs.set(key, decode)
  }
  return decode
}

const customDecoder = (type: Extract<GoType, { form: 'custom' }>): Decode => {
  const read = readCustom[type.custom]
  if (!type.custom.startsWith('Schema'))
    return (value, state) => read(value) ?? (value === null ? null : refuse(state))
  const decodeSchema = structDecoder(schemaNames.jsonSchemaProps)
  return (value, state) => {
    if (isJsonObject(value)) return decodeSchema(value, state)
    if (Array.isArray(value) && type.custom === 'SchemaOrArray')
      return value.map((item) => (item === null ? {} : decodeSchema(item, state)))
    return read(value) ?? refuse(state)
  }
}

export const decoderOf = (type: GoType): Decode => {
  switch (type.form) {
    case 'scalar':
      return scalarDecoders[type.scalar]
    case 'bytes':
      return decodeBytes
    case 'slice':
      return decodeSlice(type.item)
    case 'map':
      return decodeMap(type.value)
    case 'struct':
      return structDecoder(type.key)
    default:
      return customDecoder(type)
  }
}
