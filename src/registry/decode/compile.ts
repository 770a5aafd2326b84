/**
 * Decoding of well-formed values, compiled to one closure a type at first use: checks, prunes, and normalises as a
 * round trip through the Go struct does. What is not well-formed only raises `state.problem`; explain.ts finds the words.
 */

import { isParsedAlike } from '#api/quantity.js'
import { canonicalBase64 } from '#go/base64.js'
import { trimSpace } from '#go/trim-space.js'
import { sortedKeys } from '#json/entries.js'
import { noteGivenEmpty, noteGivenTexts } from '#json/given-empty.js'
import { isJsonObject, setOwn, withKeysInOrder } from '#json/object.js'
import type { JsonTrace } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { noteNumbersIn } from '#json/written-numbers.js'
import { compiledStructs } from '../compiled-structs.js'
import { isInt32, isUint8, readCustom, zeroCustom } from './custom.js'
import {
  type GoField,
  type GoType,
  goFieldsOf,
  isParsedAnew,
  isPartOfSchema,
  isQuantity,
  isWrittenAsGiven,
  schemaPartOf,
} from './go-type.js'

interface DecodeState {
  /** Something was of a wrong type, unknown or ambiguous: the result is not complete. */
  problem: boolean
  /** Something was given that storage has in another way, such as an empty list: it is noted (given-empty.ts). */
  givenEmpty: boolean
  /** How numbers were written, where that is another way than JavaScript's: a quantity is read as it is written. */
  readonly literals?: JsonTrace['literals'] | undefined
}

const startState = (): DecodeState => ({ problem: false, givenEmpty: false })

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

/** Go's []byte: base64, or a list of numbers. */
const decodeBytes: Decode = (value, state) => {
  if (typeof value === 'string') return canonicalBase64(value) ?? refuse(state)
  if (!Array.isArray(value) || !value.every((item) => item === null || isUint8(item)))
    return refuse(state)
  return Buffer.from(value as number[]).toString('base64')
}

const zeroScalar = { string: '', bool: false, int32: 0, int64: 0, float64: 0 } as const

/** Go's zero value of the type, which null elements of lists and maps become. */
const zeroOf = (type: GoType): JsonValue => {
  switch (type.form) {
    case 'scalar':
      return zeroScalar[type.scalar]
    case 'bytes':
      return ''
    case 'custom':
      return zeroCustom[type.custom]
    case 'struct':
      return structDecoder(type.key)({}, startState())
    default:
      return null
  }
}

const asWritten = (
  holder: JsonObject,
  key: string,
  value: JsonValue,
  { literals }: DecodeState,
): JsonValue =>
  literals !== undefined && typeof value === 'number'
    ? (literals.get(holder)?.get(key) ?? value)
    : value

/** The quantities of one object that were written in another way than they are stored; undefined where there are none. */
type OtherTexts = JsonObject | undefined

const withText = (
  texts: OtherTexts,
  key: string,
  given: JsonValue,
  read: JsonValue | undefined,
): OtherTexts => {
  if (given === read || typeof read !== 'string') return texts
  const text = trimSpace(String(given))
  if (isParsedAlike(text, read)) return texts
  const noted = texts ?? {}
  setOwn(noted, key, text)
  return noted
}

const noteTexts = (holder: JsonObject, texts: OtherTexts, state: DecodeState): void => {
  if (texts === undefined) return
  noteGivenTexts(holder, texts)
  state.givenEmpty = true
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
  const holdsQuantities = isQuantity(type)
  return (value, state) => {
    if (!isJsonObject(value)) return refuse(state)
    const result: JsonObject = {}
    let texts: OtherTexts
    // Go writes maps in the order of their keys.
    for (const key of sortedKeys(value)) {
      const given = value[key]!
      const element = holdsQuantities ? asWritten(value, key, given, state) : given
      const read = element === null ? zeroOf(type) : decodeValue(element, state)
      setOwn(result, key, read)
      if (holdsQuantities && element !== null) texts = withText(texts, key, element, read)
    }
    noteTexts(result, texts, state)
    return result
  }
}

type Emptiness = 'never' | 'scalar' | 'bytes' | 'list' | 'map' | 'schemas'

interface CompiledField {
  readonly name: string
  readonly isQuantity: boolean
  readonly decode: Decode
  readonly empty: Emptiness
  /** What Go writes for a missing field; undefined: the field is left out. */
  readonly absent: (() => JsonValue) | undefined
  /** What Go writes for a zero value; undefined: the field is left out. */
  readonly whenZero: JsonValue | undefined
  readonly omitEmpty: boolean
  readonly omitZero: boolean
}

const emptinessOf = (field: GoField): Emptiness => {
  if (field.type.form === 'custom' && field.type.custom === 'SchemaOrArray') return 'schemas'
  if (field.pointer) return 'never'
  switch (field.type.form) {
    case 'slice':
      return 'list'
    case 'map':
      return 'map'
    case 'scalar':
    case 'bytes':
      return field.type.form
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
  if (type.form === 'struct') return () => structDecoder(type.key)({}, startState())
  if (type.form === 'custom') return () => zeroCustom[type.custom]
  if (field.omitEmpty) return undefined
  return type.form === 'scalar' ? () => zeroScalar[type.scalar] : () => null
}

const compileField = (field: GoField): CompiledField => {
  const { type, omitEmpty, omitZero } = field
  const zero = type.form === 'scalar' && !omitEmpty ? zeroScalar[type.scalar] : undefined
  return {
    name: field.name,
    isQuantity: isQuantity(type),
    decode: decoderOf(type),
    empty: emptinessOf(field),
    absent: absentOf(field),
    whenZero: field.default ?? zero,
    omitEmpty,
    omitZero,
  }
}

const isEmpty = (how: Emptiness, value: JsonValue): boolean => {
  switch (how) {
    case 'never':
      return false
    case 'scalar':
      return value === '' || value === 0 || value === false
    case 'bytes':
      return value === ''
    case 'list':
      return (value as JsonValue[]).length === 0
    case 'schemas':
      return value === null || (Array.isArray(value) && value.length === 0)
    default:
      for (const _key in value as JsonObject) return false
      return true
  }
}

const assemble = (
  fields: readonly CompiledField[],
  slots: JsonValue[],
  state: DecodeState,
): JsonObject => {
  const result: JsonObject = {}
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!
    const value = slots[at]
    if (value === undefined || (value === null && field.omitZero)) {
      if (field.absent !== undefined) result[field.name] = field.absent()
    } else if (
      field.empty === 'never' ||
      (value === null && field.empty !== 'schemas') ||
      !isEmpty(field.empty, value)
    )
      result[field.name] = value
    else if (field.empty === 'scalar') {
      if (field.whenZero !== undefined) result[field.name] = field.whenZero
    } else if (field.omitEmpty) {
      noteGivenEmpty(result, field.name, value)
      state.givenEmpty = true
    } else result[field.name] = value
  }
  return result
}

const compileStruct = (key: string): Decode => {
  const fields = goFieldsOf(key).map(compileField)
  const indexes = new Map(fields.map((field, at) => [field.name, at]))
  const amounts = fields.filter((field) => field.isQuantity)
  return (value, state) => {
    if (!isJsonObject(value)) return refuse(state)
    const slots = new Array<JsonValue>(fields.length)
    for (const name in value) {
      const at = indexes.get(name)
      const given = value[name]!
      if (at === undefined) state.problem = true
      else if (given !== null) {
        const field = fields[at]!
        const element = field.isQuantity ? asWritten(value, name, given, state) : given
        slots[at] = field.decode(element, state)
      }
    }
    const result = assemble(fields, slots, state)
    let texts: OtherTexts
    for (const { name } of amounts) {
      const given = value[name] ?? null
      if (given !== null)
        texts = withText(texts, name, asWritten(value, name, given, state), result[name])
    }
    noteTexts(result, texts, state)
    return result
  }
}

const structDecoder = compiledStructs(compileStruct)

const customDecoder = (type: Extract<GoType, { form: 'custom' }>): Decode => {
  const read = readCustom[type.custom]
  if (isWrittenAsGiven(type))
    return (value, { literals }) => {
      if (literals !== undefined) noteNumbersIn(value, literals)
      return value
    }
  if (isParsedAnew(type)) return withKeysInOrder
  if (!isPartOfSchema(type.custom))
    return (value, state) => {
      const found = value === null ? null : read(value)
      return found === undefined ? refuse(state) : found
    }
  return (value, state) => {
    const part = schemaPartOf(type.custom, value)
    return part === undefined ? (read(value) ?? refuse(state)) : decoderOf(part)(value, state)
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
