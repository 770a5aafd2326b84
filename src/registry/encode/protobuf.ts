/**
 * Objects in Kubernetes' protobuf: the same table of Go types that decoding reads (openapi/data/go-fields.json), compiled
 * to one closure a type at first use. Upstream's generated code writes every field that is no pointer, list or map even
 * when it is empty, fields by their numbers, and maps by their keys; so do we, to be equal byte for byte.
 */
import { parseTime } from '#api/clock.js'
import { stringify } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { schemaNames } from '#openapi/schemas.js'
import { compiledStructs } from '../compiled-structs.js'
import {
  type CustomType,
  type GoField,
  type GoType,
  goTypeOfKey,
  isListMessage,
} from '../decode/go-type.js'
import { type MessagePlan, messagePlanOf } from '../decode/message-plan.js'
import { unknownMagic, wireType } from '../decode/protobuf-reader.js'
import { ProtobufWriter } from './protobuf-writer.js'

/** Writes the content of a message. */
type Write = (writer: ProtobufWriter, value: JsonObject) => void
/** Writes a field, tag and all; nothing where upstream writes nothing. */
type WriteField = (writer: ProtobufWriter, value: JsonValue | undefined) => void

const writeSchema = (writer: ProtobufWriter, number: number, value: JsonValue): void => {
  const mark = writer.mark
  structWriter(schemaNames.jsonSchemaProps)(writer, value as JsonObject)
  writer.delimit(number, mark)
}

const writeTime = (writer: ProtobufWriter, value: JsonValue, nanos: number): void => {
  if (typeof value !== 'string') return
  writer.integerField(2, nanos)
  writer.integerField(1, Math.floor(parseTime(value) / 1000))
}

const customWriters: Readonly<Record<CustomType, (writer: ProtobufWriter, v: JsonValue) => void>> =
  {
    IntOrString: (writer, value) => {
      const isText = typeof value === 'string'
      writer.textField(3, isText ? value : '')
      writer.integerField(2, isText ? 0 : Number(value ?? 0))
      writer.integerField(1, isText ? 1 : 0)
    },
    Time: (writer, value) => writeTime(writer, value, 0),
    MicroTime: (writer, value) =>
      writeTime(writer, value, Number(/\.(\d{6})/.exec(String(value))?.[1] ?? '0') * 1000),
    Quantity: (writer, value) => writer.textField(1, String(value ?? '0')),
    Raw: (writer, value) => {
      if (value !== null) writer.textField(1, stringify(value))
    },
    SchemaOrBool: (writer, value) => {
      if (typeof value === 'object' && value !== null) writeSchema(writer, 2, value)
      writer.integerField(1, value === false ? 0 : 1)
    },
    SchemaOrArray: (writer, value) => {
      if (!Array.isArray(value)) writeSchema(writer, 1, value)
      else for (const item of value.toReversed()) writeSchema(writer, 2, item)
    },
    SchemaOrStringArray: (writer, value) => {
      if (!Array.isArray(value)) writeSchema(writer, 1, value)
      else for (const item of value.toReversed()) writer.textField(2, String(item))
    },
  }

/** The field of one value that is there, or of the zero that stands in its place. */
const valueWriter = (type: GoType, number: number): WriteField => {
  switch (type.form) {
    case 'scalar':
      switch (type.scalar) {
        case 'string':
          return (writer, value) => writer.textField(number, (value ?? '') as string)
        case 'bool':
          return (writer, value) => writer.integerField(number, value === true ? 1 : 0)
        case 'float64':
          return (writer, value) => {
            writer.double(Number(value ?? 0))
            writer.tag(number, wireType.fixed64)
          }
        default:
          return (writer, value) => writer.integerField(number, (value ?? 0) as number | bigint)
      }
    case 'bytes':
      return (writer, value) => {
        const mark = writer.mark
        writer.bytes(Buffer.from((value ?? '') as string, 'base64'))
        writer.delimit(number, mark)
      }
    case 'struct': {
      const write = structWriter(type.key)
      return (writer, value) => {
        const mark = writer.mark
        write(writer, (value ?? {}) as JsonObject)
        writer.delimit(number, mark)
      }
    }
    case 'custom': {
      const write = customWriters[type.custom]
      return (writer, value) => {
        const mark = writer.mark
        write(writer, value ?? null)
        writer.delimit(number, mark)
      }
    }
    case 'slice': {
      // A list as the value of a map, or with a message of its own.
      const writeItems = itemsWriter(type.item, 1)
      return (writer, value) => {
        const mark = writer.mark
        writeItems(writer, value)
        writer.delimit(number, mark)
      }
    }
    default:
      throw new Error(`${type.name} is no value of protobuf`)
  }
}

const itemsWriter = (item: GoType, number: number): WriteField => {
  const write = valueWriter(item, number)
  return (writer, value) => {
    if (!Array.isArray(value)) return
    for (let at = value.length - 1; at >= 0; at--) write(writer, value[at])
  }
}

/** Go compares bytes; UTF-16 sorts otherwise beyond the basic plane only. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const sortedKeys = (map: JsonObject): string[] => {
  const keys = Object.keys(map)
  return keys.some((key) => /[\ud800-\udfff]/.test(key)) ? keys.sort(byBytes) : keys.sort()
}

const mapWriter = (type: GoType, number: number): WriteField => {
  const write = valueWriter(type, 2)
  return (writer, value) => {
    if (value === null || typeof value !== 'object') return
    const map = value as JsonObject
    const keys = sortedKeys(map)
    for (let at = keys.length - 1; at >= 0; at--) {
      const mark = writer.mark
      write(writer, map[keys[at]!])
      writer.textField(1, keys[at]!)
      writer.delimit(number, mark)
    }
  }
}

const fieldWriter = ({ type, pointer, protoNumber }: GoField): WriteField => {
  if (type.form === 'slice' && !isListMessage(type)) return itemsWriter(type.item, protoNumber)
  if (type.form === 'map') return mapWriter(type.value, protoNumber)
  const write = valueWriter(type, protoNumber)
  if (!pointer && type.form !== 'bytes' && type.form !== 'slice') return write
  return (writer, value) => {
    if (value !== undefined && value !== null) write(writer, value)
  }
}

interface CompiledField {
  readonly number: number
  write(writer: ProtobufWriter, object: JsonObject): void
}

const compileField = (field: GoField): CompiledField => {
  const write = fieldWriter(field)
  const { name } = field
  return {
    number: field.protoNumber,
    write: (writer, object) =>
      write(writer, Object.hasOwn(object, name) ? object[name] : undefined),
  }
}

const compilePlan = ({ fields, embedded }: MessagePlan): Write => {
  const compiled = [...fields.values()].map(compileField)
  // Embedded structs are always written.
  for (const [number, { plan }] of embedded) {
    const write = compilePlan(plan)
    compiled.push({
      number,
      write: (writer, object) => {
        const mark = writer.mark
        write(writer, object)
        writer.delimit(number, mark)
      },
    })
  }
  const down = compiled.sort((a, b) => b.number - a.number)
  return (writer, object) => {
    for (const field of down) field.write(writer, object)
  }
}

const structWriter = compiledStructs((key) => compilePlan(messagePlanOf(key)))

const shared = new ProtobufWriter()

const made = (write: (writer: ProtobufWriter) => void): Buffer => {
  try {
    write(shared)
    return shared.finish()
  } finally {
    shared.reset()
  }
}

const contentWriter = (key: string): Write => {
  const type = goTypeOfKey(key)
  if (type.form !== 'struct') throw new Error(`${key} is no message`)
  return structWriter(type.key)
}

/** What an envelope says of the object inside it. */
export interface TypeMeta {
  readonly apiVersion: string
  readonly kind: string
}

const writeOpening = (writer: ProtobufWriter, { apiVersion, kind }: TypeMeta): void => {
  const typeMeta = writer.mark
  writer.textField(2, kind)
  writer.textField(1, apiVersion)
  writer.delimit(1, typeMeta)
  writer.bytes(unknownMagic)
}

/**
 * An object as field 2 of a message, which it is twice: of its envelope, and of the list that it is an item of. `key` is
 * its type in go-fields.json.
 */
export const encodeField = (key: string, value: JsonObject): Buffer =>
  made((writer) => {
    const mark = writer.mark
    contentWriter(key)(writer, value)
    writer.delimit(2, mark)
  })

const envelopeEnd = made((writer) => {
  writer.textField(4, '')
  writer.textField(3, '')
})

/** What `encodeField` made in its envelope, runtime.Unknown after four magic bytes. */
export const inEnvelope = (type: TypeMeta, field: Buffer): Buffer =>
  made((writer) => {
    writer.bytes(envelopeEnd)
    writer.bytes(field)
    writeOpening(writer, type)
  })

/** What goes before and after the fields of the items of a list, `itemsLength` bytes, in the envelope of the list. */
export const listFrame = (
  type: TypeMeta,
  metadata: JsonObject,
  itemsLength: number,
): [head: Buffer, end: Buffer] => [
  made((writer) => {
    contentWriter('meta.ListMeta')(writer, metadata)
    writer.delimit(1, 0)
    writer.varint(writer.mark + itemsLength)
    writer.tag(2, wireType.delimited)
    writeOpening(writer, type)
  }),
  envelopeEnd,
]

/** The same for a list whose items are field 1, and its metadata field 2. */
export const formerListFrame: typeof listFrame = (type, metadata, itemsLength) => {
  const end = made((writer) => {
    writer.bytes(envelopeEnd)
    const mark = writer.mark
    contentWriter('meta.ListMeta')(writer, metadata)
    writer.delimit(2, mark)
  })
  const head = made((writer) => {
    writer.varint(itemsLength + end.length - envelopeEnd.length)
    writer.tag(2, wireType.delimited)
    writeOpening(writer, type)
  })
  return [head, end]
}

/** What `encodeField` made, as field 1. */
export const asFirstField = (field: Buffer): Buffer => {
  const first = Buffer.from(field)
  first[0] = (1 << 3) | wireType.delimited
  return first
}

const lengthBytes = 4

/**
 * The pieces of one frame of a watch: its length in four bytes, then a WatchEvent without envelope around an object with
 * one, which is what `encodeField` made.
 */
export const watchFrame = (
  eventType: string,
  type: TypeMeta,
  field: Buffer,
): [head: Buffer, field: Buffer, end: Buffer] => {
  const behind = field.length + envelopeEnd.length
  const head = made((writer) => {
    writeOpening(writer, type)
    for (const number of [1, 2]) {
      writer.varint(writer.mark + behind)
      writer.tag(number, wireType.delimited)
    }
    writer.textField(1, eventType)
    const length = Buffer.alloc(lengthBytes)
    length.writeUInt32BE(writer.mark + behind)
    writer.bytes(length)
  })
  return [head, field, envelopeEnd]
}
