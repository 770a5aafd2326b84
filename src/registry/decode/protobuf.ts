/**
 * A body in Kubernetes' protobuf, as the JSON value that a client would have sent in its place: kubectl's generators and
 * other typed clients write protobuf. Field numbers come with the Go types (openapi/data/go-fields.json).
 */
import { int64Of } from '#json/int64.js'
import { parse } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName, schemaNames } from '#openapi/schemas.js'
import {
  type CustomType,
  type GoField,
  type GoType,
  goTypeOfKey,
  hasGoFields,
  isListMessage,
} from './go-type.js'
import { type MessagePlan, messagePlanOf } from './message-plan.js'
import {
  bytesOf,
  ProtobufError,
  ProtobufMessageError,
  varintOf,
  type WireField,
  wireFields,
} from './protobuf-reader.js'

const magic = Buffer.from('k8s\0')

type Members = Map<string, JsonValue>

const readMessage = (members: Members, plan: MessagePlan, bytes: Buffer): void => {
  for (const { number, value } of wireFields(bytes)) {
    const field = plan.fields.get(number)
    const inner = field === undefined ? plan.embedded.get(number) : undefined
    if (field !== undefined) readField(members, field, value)
    else if (inner !== undefined) readMessage(members, inner, bytesOf(value))
  }
}

const readStruct = (key: string, bytes: Buffer): JsonObject => {
  const members: Members = new Map()
  readMessage(members, messagePlanOf(key), bytes)
  return Object.fromEntries(members)
}

/** Go writes fields that are no pointers even when nobody set them: in JSON they would not be there. */
const isUnset = (field: GoField, value: JsonValue): boolean => {
  if (field.pointer) return false
  if (value === null) return true
  // Raw JSON stays as it was written, the empty object included.
  if (field.type.form === 'custom' && field.type.custom === 'Raw') return false
  if (typeof value === 'object' && !Array.isArray(value))
    return field.type.form !== 'map' && Object.keys(value).length === 0
  if (value === '') return field.omitEmpty || field.type.form === 'custom'
  return field.omitEmpty && (value === 0 || value === false)
}

const readField = (members: Members, field: GoField, wire: WireField['value']): void => {
  const { name, type } = field
  if (type.form === 'slice' && !isListMessage(type)) {
    const list = (members.get(name) as JsonValue[] | undefined) ?? []
    list.push(readValue(type.item, wire))
    members.set(name, list)
  } else if (type.form === 'map') {
    const [entryKey, entryValue] = readEntry(type.value, bytesOf(wire))
    const map = (members.get(name) as JsonObject | undefined) ?? {}
    members.set(name, { ...map, ...Object.fromEntries([[entryKey, entryValue]]) })
  } else {
    const value = readValue(type, wire)
    if (!isUnset(field, value)) members.set(name, value)
  }
}

const readEntry = (type: GoType, bytes: Buffer): [string, JsonValue] => {
  let key = ''
  let value: JsonValue | undefined
  for (const field of wireFields(bytes)) {
    if (field.number === 1) key = bytesOf(field.value).toString('utf8')
    if (field.number === 2) value = readValue(type, field.value)
  }
  return [key, value ?? (type.form === 'slice' ? [] : '')]
}

/** A list as the value of a map is a message with one repeated field. */
const readItems = (item: GoType, bytes: Buffer): JsonValue[] =>
  [...wireFields(bytes)]
    .filter(({ number }) => number === 1)
    .map(({ value }) => readValue(item, value))

const readValue = (type: GoType, wire: WireField['value']): JsonValue => {
  switch (type.form) {
    case 'scalar':
      if (type.scalar === 'string') return bytesOf(wire).toString('utf8')
      if (type.scalar === 'bool') return varintOf(wire) !== 0n
      if (type.scalar === 'float64') return bytesOf(wire).readDoubleLE(0)
      return int64Of(varintOf(wire))
    case 'bytes':
      return bytesOf(wire).toString('base64')
    case 'struct':
      return readStruct(type.key, bytesOf(wire))
    case 'slice':
      return readItems(type.item, bytesOf(wire))
    case 'custom':
      return readCustom(type, bytesOf(wire))
    default:
      throw new ProtobufError(`proto: ${type.name} has no form of its own`)
  }
}

/** Numbers and texts of a small message, by field number. */
const flat = (bytes: Buffer): { numbers: Map<number, bigint>; parts: Map<number, Buffer> } => {
  const numbers = new Map<number, bigint>()
  const parts = new Map<number, Buffer>()
  for (const { number, value } of wireFields(bytes))
    if (typeof value === 'bigint') numbers.set(number, value)
    else parts.set(number, value)
  return { numbers, parts }
}

const readTime = (bytes: Buffer, isMicro: boolean): JsonValue => {
  const { numbers } = flat(bytes)
  if (numbers.size === 0) return null
  const seconds = Number(numbers.get(1) ?? 0n)
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19)
  if (!isMicro) return `${whole}Z`
  const micros = Math.floor(Number(numbers.get(2) ?? 0n) / 1000)
  return `${whole}.${String(micros).padStart(6, '0')}Z`
}

const readers: Readonly<Record<CustomType, (bytes: Buffer) => JsonValue>> = {
  IntOrString: (bytes) => {
    const { numbers, parts } = flat(bytes)
    return numbers.get(1) === 1n
      ? (parts.get(3)?.toString('utf8') ?? '')
      : int64Of(numbers.get(2) ?? 0n)
  },
  MicroTime: (bytes) => readTime(bytes, true),
  Time: (bytes) => readTime(bytes, false),
  Quantity: (bytes) => flat(bytes).parts.get(1)?.toString('utf8') ?? '0',
  Raw: (bytes) => {
    const raw = flat(bytes).parts.get(1)
    return raw === undefined || raw.length === 0 ? null : parse(raw.toString('utf8'))
  },
  SchemaOrBool: (bytes) => {
    const { numbers, parts } = flat(bytes)
    const schema = parts.get(2)
    return schema === undefined
      ? numbers.get(1) === 1n
      : readStruct(schemaNames.jsonSchemaProps, schema)
  },
  SchemaOrArray: (bytes) => {
    const schema = flat(bytes).parts.get(1)
    return schema === undefined
      ? [...wireFields(bytes)].map(({ value }) =>
          readStruct(schemaNames.jsonSchemaProps, bytesOf(value)),
        )
      : readStruct(schemaNames.jsonSchemaProps, schema)
  },
  SchemaOrStringArray: (bytes) => {
    const schema = flat(bytes).parts.get(1)
    return schema === undefined
      ? [...wireFields(bytes)].map(({ value }) => bytesOf(value).toString('utf8'))
      : readStruct(schemaNames.jsonSchemaProps, schema)
  },
}

const readCustom = (type: GoType & { form: 'custom' }, bytes: Buffer): JsonValue =>
  readers[type.custom](bytes)

/** Whether a kind can come in protobuf: custom ones cannot. */
export const hasProtobuf = (schemaName: string | undefined): boolean =>
  schemaName !== undefined && hasGoFields(goTypeName(schemaName))

const readRoot = (key: string, message: Buffer): JsonObject => {
  try {
    return readStruct(key, message)
  } catch (error) {
    if (error instanceof ProtobufError) throw new ProtobufMessageError(error.message)
    throw error
  }
}

interface Envelope {
  readonly kind: string
  readonly apiVersion: string
  readonly message: Buffer
}

/** The envelope is runtime.Unknown: type, then the message. Throws a ProtobufError. */
export const openEnvelope = (body: Buffer): Envelope => {
  if (body.length === 0) throw new ProtobufError('empty data')
  if (!body.subarray(0, magic.length).equals(magic))
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  if (body.length === magic.length) throw new ProtobufError('empty body')
  const { parts } = flat(body.subarray(magic.length))
  const type = flat(parts.get(1) ?? Buffer.alloc(0)).parts
  const text = (number: number) => type.get(number)?.toString('utf8') ?? ''
  return { kind: text(2), apiVersion: text(1), message: parts.get(2) ?? Buffer.alloc(0) }
}

/** Throws a ProtobufError. */
export const protobufToJson = (body: Buffer, schemaName: string): JsonObject => {
  const { kind, apiVersion, message } = openEnvelope(body)
  const root = goTypeOfKey(goTypeName(schemaName))
  if (root.form !== 'struct') throw new ProtobufError(`proto: ${schemaName} is no message`)
  return {
    ...(kind === '' ? {} : { kind }),
    ...(apiVersion === '' ? {} : { apiVersion }),
    ...readRoot(root.key, message),
  }
}
