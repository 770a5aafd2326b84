/** Answers in protobuf: finds the Go type of what is answered. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { JsonObject, ListMeta } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { goTypeName, schemaNameOfKind } from '#openapi/schemas.js'
import {
  encodeField,
  inEnvelope,
  listFrame,
  type TypeMeta,
  watchFrame,
} from '#registry/encode/protobuf.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { ListBody, wholeItems } from './list-body.js'
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

const keyOf = ({ apiVersion, kind }: JsonObject): string => {
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

/** `value` says what it is. */
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

/** Others have their turn while the items are made; who reads the list again finds them. */
export const listInProtobuf = async (
  definition: ResourceDefinition,
  metadata: ListMeta,
  stored: readonly StoredObject[],
): Promise<ListBody> => {
  const items: Buffer[] = []
  let length = 0
  let turn = performance.now()
  for (const one of stored) {
    const field = fieldOf(definition, one)
    items.push(field)
    length += field.length
    if (performance.now() - turn < limits.turnMsMax) continue
    await nextTurn()
    turn = performance.now()
  }
  const type = typeOfStored(definition, definition.listKind)
  const [head, end] = listFrame(type, metadata as JsonObject, length)
  return new ListBody({ head, end, items, form: wholeItems })
}
