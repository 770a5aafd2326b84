/**
 * The legacy discovery documents in Kubernetes' protobuf envelope: the four message types of discovery are small enough
 * to be a table of field numbers (apimachinery, pkg/apis/meta/v1/generated.proto).
 */
import type { JsonObject, JsonValue } from '#api/object.js'

type Field = { number: number; message?: Message }
interface Message {
  readonly [name: string]: Field
}

const groupVersion: Message = { groupVersion: { number: 1 }, version: { number: 2 } }
const serverAddress: Message = { clientCIDR: { number: 1 }, serverAddress: { number: 2 } }
const group: Message = {
  name: { number: 1 },
  versions: { number: 2, message: groupVersion },
  preferredVersion: { number: 3, message: groupVersion },
}
const resource: Message = {
  name: { number: 1 },
  namespaced: { number: 2 },
  kind: { number: 3 },
  // Verbs is a message of its own with one repeated field.
  verbs: { number: 4, message: { items: { number: 1 } } },
  shortNames: { number: 5 },
  singularName: { number: 6 },
  categories: { number: 7 },
  group: { number: 8 },
  version: { number: 9 },
  storageVersionHash: { number: 10 },
}
const messages: Readonly<Record<string, Message>> = {
  APIGroup: group,
  APIGroupList: { groups: { number: 1, message: group } },
  APIVersions: {
    versions: { number: 1 },
    serverAddressByClientCIDRs: { number: 2, message: serverAddress },
  },
  APIResourceList: { groupVersion: { number: 1 }, resources: { number: 2, message: resource } },
}

const varint = (value: number): number[] => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80)
  return [...bytes, rest]
}

const delimited = (number: number, content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(content.length)]), content])

const encodeValue = ({ number, message }: Field, value: JsonValue): Buffer => {
  if (typeof value === 'boolean') return Buffer.from([...varint(number * 8), value ? 1 : 0])
  if (typeof value === 'string') return delimited(number, Buffer.from(value))
  return delimited(number, encodeMessage(message!, value as JsonObject))
}

const encodeMessage = (message: Message, object: JsonObject): Buffer =>
  Buffer.concat(
    Object.entries(message).flatMap(([name, field]) => {
      const value = object[name]
      if (value === undefined) return []
      if (!Array.isArray(value)) return [encodeValue(field, value)]
      // A list under a message with `items` is that message once, not one message for each element.
      if (field.message?.items !== undefined) return [encodeValue(field, { items: value })]
      return value.map((element) => encodeValue(field, element))
    }),
  )

/** The envelope: four magic bytes, then runtime.Unknown with the type and the message. */
export const encodeDiscovery = (document: JsonObject): Buffer => {
  const kind = document.kind as string
  const type = Buffer.concat([delimited(1, Buffer.from('v1')), delimited(2, Buffer.from(kind))])
  const raw = encodeMessage(messages[kind]!, document)
  return Buffer.concat([
    Buffer.from('k8s\0'),
    delimited(1, type),
    delimited(2, raw),
    delimited(3, Buffer.alloc(0)),
    delimited(4, Buffer.alloc(0)),
  ])
}
