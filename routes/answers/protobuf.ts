/** Answers in protobuf: finds the Go type of what is answered. */

import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject, ListMeta } from '#api/object.js'
import { mapInTurns } from '#async/turns.js'
import { whenKnown } from '#async/when-known.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { JsonObject } from '#json/value.js'
import { goTypeName, schemaNameOfKind } from '#openapi/schemas.js'
import {
  asFirstField,
  encodeField,
  formerListFrame,
  inEnvelope,
  listFrame,
  type TypeMeta,
  watchFrame,
} from '#registry/encode/protobuf.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { type ListBody, listOfKnown, wholeItems } from './list-body.js'
import { madeOnce, viewOf } from './stored-json.js'

const metaGroup = 'meta.k8s.io'
// The list of the former version numbers its fields the other way round.
const formerList = 'meta.v1beta1.PartialObjectMetadataList'

const keys = new Map<string, string>()

const findKey = (apiVersion: string, kind: string): string => {
  const { group = '', version = '' } = parseGroupVersion(apiVersion) ?? {}
  if (kind === 'Status') return 'meta.Status'
  if (group === metaGroup)
    return version === 'v1beta1' && kind.endsWith('List') ? formerList : `meta.${kind}`
  // Discovery is in no schema: it is no resource.
  if (group === 'apidiscovery.k8s.io') return `apidiscovery.${version}.${kind}`
  const name = schemaNameOfKind({ group, version, kind })
  if (name === undefined) throw new Error(`${apiVersion} ${kind} has no protobuf`)
  return goTypeName(name)
}

const keyOf = ({ apiVersion, kind }: { apiVersion?: unknown; kind?: unknown }): string => {
  const name = `${apiVersion} ${kind}`
  let key = keys.get(name)
  if (key === undefined) {
    key = findKey(String(apiVersion), String(kind))
    keys.set(name, key)
  }
  return key
}

const typeOf = ({ apiVersion, kind }: JsonObject): TypeMeta => ({
  apiVersion: String(apiVersion ?? ''),
  kind: String(kind ?? ''),
})

const encode = (key: string, value: JsonObject): Buffer =>
  inEnvelope(typeOf(value), encodeField(key, value))

/** `value` has a kind and an apiVersion. */
export const inProtobuf = (value: unknown): Buffer =>
  encode(keyOf(value as JsonObject), value as JsonObject)

/** A type of meta/v1 that the server answers with. */
export const metaInProtobuf = (value: JsonObject): Buffer => encode(`meta.${value.kind}`, value)

export const frameInProtobuf = (type: string, object: unknown): Buffer => {
  const value = object as JsonObject
  return Buffer.concat(watchFrame(type, typeOf(value), encodeField(keyOf(value), value)))
}

const fieldOf = (definition: ResourceDefinition, stored: StoredObject): Buffer =>
  madeOnce(stored, `protobuf ${formatGroupVersion(definition.gvk)}`, () => {
    const view = viewOf(definition, stored) as unknown as JsonObject
    return encodeField(keyOf(view), view)
  })

const typeOfStored = ({ gvk }: ResourceDefinition, kind = gvk.kind): TypeMeta => ({
  apiVersion: formatGroupVersion(gvk),
  kind,
})

export const storedInProtobuf = (definition: ResourceDefinition, stored: StoredObject): Buffer =>
  inEnvelope(typeOfStored(definition), fieldOf(definition, stored))

/** The frame in pieces, so that what is kept is copied once. */
export const storedFrameInProtobuf = (
  type: string,
  definition: ResourceDefinition,
  stored: StoredObject,
): readonly Buffer[] => watchFrame(type, typeOfStored(definition), fieldOf(definition, stored))

/** Yields to others while it makes the items, which are kept for the next reader of the list. */
export const objectsInProtobuf = (
  definition: ResourceDefinition,
  metadata: ListMeta,
  stored: readonly StoredObject[],
): ListBody | Promise<ListBody> =>
  listInProtobuf(typeOfStored(definition, definition.listKind), metadata, stored, (one) =>
    fieldOf(definition, one),
  )

export const partialListInProtobuf = (
  apiVersion: string,
  metadata: ListMeta,
  stored: readonly StoredObject[],
  partialOf: (stored: StoredObject) => KubeObject,
): ListBody | Promise<ListBody> => {
  const type = { apiVersion, kind: 'PartialObjectMetadataList' }
  const isFormer = keyOf(type) === formerList
  const fieldOf = (one: StoredObject): Buffer => {
    const partial = partialOf(one) as unknown as JsonObject
    const field = encodeField(keyOf(partial), partial)
    return isFormer ? asFirstField(field) : field
  }
  return listInProtobuf(type, metadata, stored, fieldOf, isFormer ? formerListFrame : listFrame)
}

const listInProtobuf = (
  type: TypeMeta,
  metadata: ListMeta,
  stored: readonly StoredObject[],
  fieldOf: (stored: StoredObject) => Buffer,
  frameOf = listFrame,
): ListBody | Promise<ListBody> => {
  const listOf = (items: readonly Buffer[]): ListBody => {
    const lengths = items.map((field) => field.length)
    const length = lengths.reduce((sum, one) => sum + one, 0)
    const [head, end] = frameOf(type, metadata, length)
    return listOfKnown({ head, end, form: wholeItems }, lengths, (i) => items[i]!)
  }
  return whenKnown(mapInTurns(stored, fieldOf), listOf)
}
