/** Answers in protobuf: finds the Go type of what is answered. */
import { parseGroupVersion } from '#api/group-version.js'
import type { JsonObject } from '#api/object.js'
import { goTypeName, schemaNameOfKind } from '#openapi/schemas.js'
import { encodeProtobuf, encodeWatchFrame } from '#registry/encode/protobuf.js'

const metaGroup = 'meta.k8s.io'
// The list of the former version numbers its fields the other way round.
const formerList = 'meta.v1beta1.PartialObjectMetadataList'

const keys = new Map<string, string>()

const findKey = (apiVersion: string, kind: string): string => {
  const { group = '', version = '' } = parseGroupVersion(apiVersion) ?? {}
  if (kind === 'Status') return 'meta.Status'
  if (group === metaGroup)
    return version === 'v1beta1' && kind.endsWith('List') ? formerList : `meta.${kind}`
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

/** `value` says what it is. */
export const inProtobuf = (value: unknown): Buffer =>
  encodeProtobuf(keyOf(value as JsonObject), value as JsonObject)

export const frameInProtobuf = (type: string, object: unknown): Buffer =>
  encodeWatchFrame(type, keyOf(object as JsonObject), object as JsonObject)
