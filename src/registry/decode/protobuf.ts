/**
 * A body in Kubernetes' protobuf, as the JSON value that a client would have sent in its place: kubectl's generators and
 * other typed clients write protobuf. Field numbers come with the Go types (openapi/data/go-fields.json).
 */
import { parseGroupVersion } from '#api/group-version.js'
import { setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { zeroCustom } from './custom.js'
import { type GoField, type GoType, goTypeOfKey, hasGoFields, isListMessage } from './go-type.js'
import { type MessagePlan, messagePlanOf } from './message-plan.js'
import { customMessageName, customPlanOf, customValues } from './protobuf-custom.js'
import { MessageReader, ProtobufError, unknownMagic, wireType } from './protobuf-reader.js'

/** `core.v1.Pod` and `v1.Pod` are a Pod. */
const lastName = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

/** Of a message that comes in several parts the later ones are added to the earlier. */
const readMessage = (into: JsonObject, plan: MessagePlan, reader: MessageReader): JsonObject => {
  for (let number = reader.next(); number !== 0; number = reader.next()) {
    const field = plan.fields.get(number)
    const embedded = field === undefined ? plan.embedded.get(number) : undefined
    if (field !== undefined) readField(into, field, reader)
    else if (embedded !== undefined) {
      reader.expect(wireType.delimited, embedded.name)
      readMessage(into, embedded.plan, reader.message(embedded.name))
    } else reader.skip()
  }
  return into
}

/** Go writes fields that are no pointers even when nobody set them: in JSON they would not be there. */
const isUnset = (field: GoField, value: JsonValue): boolean => {
  if (field.pointer) return false
  if (value === null) return true
  // Raw JSON stays as it was written, the empty object included; and an empty text is not port 0.
  if (field.type.form === 'custom') return false
  if (typeof value === 'object' && !Array.isArray(value))
    return field.type.form !== 'map' && Object.keys(value).length === 0
  return field.omitEmpty && (value === '' || value === 0 || value === false)
}

const wireTypeOf = (type: GoType): number => {
  if (type.form !== 'scalar' || type.scalar === 'string') return wireType.delimited
  return type.scalar === 'float64' ? wireType.fixed64 : wireType.varint
}

const readField = (into: JsonObject, field: GoField, reader: MessageReader): void => {
  const { name, goName, type } = field
  if (type.form === 'slice' && !isListMessage(type)) {
    const list = (into[name] as JsonValue[] | undefined) ?? []
    into[name] = list
    readItem(list, type.item, reader, goName)
    return
  }
  reader.expect(wireTypeOf(type), goName)
  if (type.form === 'map') {
    const map = (into[name] as JsonObject | undefined) ?? {}
    into[name] = map
    readEntry(map, type.value, reader)
    return
  }
  const value = readValue(type, reader, into[name])
  if (!isUnset(field, value)) into[name] = value
  // An object that something is deleted of becomes slow.
  else if (into[name] !== undefined) delete into[name]
}

/** Numbers may also come packed, many in one field. */
const readItem = (list: JsonValue[], item: GoType, reader: MessageReader, goName: string): void => {
  const expected = wireTypeOf(item)
  if (expected === wireType.delimited || reader.wireType !== wireType.delimited) {
    reader.expect(expected, goName)
    list.push(readPart(item, reader))
    return
  }
  const end = reader.partEnd()
  while (reader.isBefore(end)) list.push(readValue(item, reader))
}

const zeroOf = (type: GoType): JsonValue => {
  if (type.form === 'custom') return zeroCustom[type.custom]
  if (type.form === 'slice') return []
  return type.form === 'struct' ? {} : ''
}

/** Generated code looks at no wire type in an entry of a map. */
const readEntry = (into: JsonObject, type: GoType, reader: MessageReader): void => {
  const end = reader.partEnd()
  let key = ''
  let value = zeroOf(type)
  for (;;) {
    const number = reader.nextOfEntry(end)
    if (number === undefined) break
    if (number === 1) key = reader.text()
    else if (number === 2) value = readPart(type, reader)
    else reader.skip(end)
  }
  reader.leaveEntry(end)
  setOwn(into, key, value)
}

/** An item of a list or a value of a map, which in JSON lies below that. */
const readPart = (type: GoType, reader: MessageReader): JsonValue =>
  readValue(type, reader, undefined, 2)

/** `before` is what an earlier part of the message said. */
const readValue = (
  type: GoType,
  reader: MessageReader,
  before?: JsonValue,
  levels = 1,
): JsonValue => {
  switch (type.form) {
    case 'scalar':
      return readScalar(type.scalar, reader)
    case 'bytes':
      return reader.bytes().toString('base64')
    case 'struct': {
      const into = (before as JsonObject | undefined) ?? {}
      const message = reader.message(lastName(type.name), levels)
      return readMessage(into, messagePlanOf(type.key), message)
    }
    case 'slice': {
      // A list that Go names, or that is the value of a map, is a message with one repeated field.
      const list = (before as JsonValue[] | undefined) ?? []
      const items = reader.message(lastName(type.name))
      for (let number = items.next(); number !== 0; number = items.next())
        if (number === 1) readItem(list, type.item, items, 'Items')
        else items.skip()
      return list
    }
    case 'custom': {
      const name = lastName(type.name)
      const message = reader.message(customMessageName(type.custom, name), levels)
      return customValues[type.custom](readMessage({}, customPlanOf(type.custom), message), name)
    }
    default:
      throw new ProtobufError(`proto: ${type.name} has no form of its own`)
  }
}

type Scalar = (GoType & { form: 'scalar' })['scalar']

const readScalar = (scalar: Scalar, reader: MessageReader): JsonValue => {
  switch (scalar) {
    case 'string':
      return reader.text()
    case 'bool':
      return reader.bool()
    case 'float64':
      return reader.double()
    case 'int32':
      return reader.int32()
    default:
      return reader.int64()
  }
}

/** Whether a kind can come in protobuf: custom ones cannot. */
export const hasProtobuf = (schemaName: string | undefined): boolean =>
  schemaName !== undefined && hasGoFields(goTypeName(schemaName))

export interface Envelope {
  readonly kind: string
  /** Empty unless it names a version: the decoder then takes the one that it expects. */
  readonly apiVersion: string
  readonly message: Buffer
}

const readTypeMeta = (into: { apiVersion: string; kind: string }, reader: MessageReader): void => {
  for (let number = reader.next(); number !== 0; number = reader.next())
    if (number === 1 || number === 2) {
      reader.expect(wireType.delimited, number === 1 ? 'APIVersion' : 'Kind')
      into[number === 1 ? 'apiVersion' : 'kind'] = reader.text()
    } else reader.skip()
}

const fieldsOfEnvelope = ['TypeMeta', 'Raw', 'ContentEncoding', 'ContentType']

/** The envelope is runtime.Unknown: type, then the message. Throws a ProtobufError. */
export const openEnvelope = (body: Buffer): Envelope => {
  if (body.length === 0) throw new ProtobufError('empty data')
  if (!body.subarray(0, unknownMagic.length).equals(unknownMagic))
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  if (body.length === unknownMagic.length) throw new ProtobufError('empty body')
  const reader = new MessageReader(body, 'Unknown', unknownMagic.length)
  const typeMeta = { apiVersion: '', kind: '' }
  let message: Buffer = Buffer.alloc(0)
  for (let number = reader.next(); number !== 0; number = reader.next()) {
    const name = fieldsOfEnvelope[number - 1]
    if (name === undefined) {
      reader.skip()
      continue
    }
    reader.expect(wireType.delimited, name)
    if (name === 'TypeMeta') readTypeMeta(typeMeta, reader.message(name))
    else if (name === 'Raw') message = reader.bytes()
    else reader.bytes()
  }
  if (!parseGroupVersion(typeMeta.apiVersion)?.version) typeMeta.apiVersion = ''
  return { ...typeMeta, message }
}

/** The message of an envelope, with the type that it names. Throws a ProtobufError. */
export const messageToJson = (
  { kind, apiVersion, message }: Envelope,
  schemaName: string,
): JsonObject => {
  const root = goTypeOfKey(goTypeName(schemaName))
  if (root.form !== 'struct') throw new ProtobufError(`proto: ${schemaName} is no message`)
  const value: JsonObject = {
    ...(kind === '' ? {} : { kind }),
    ...(apiVersion === '' ? {} : { apiVersion }),
  }
  return readMessage(
    value,
    messagePlanOf(root.key),
    new MessageReader(message, lastName(root.name)),
  )
}

/** Throws a ProtobufError. */
export const protobufToJson = (body: Buffer, schemaName: string): JsonObject =>
  messageToJson(openEnvelope(body), schemaName)
