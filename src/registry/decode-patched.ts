/**
 * Decodes a stored object after a patch. Most of its parts (spec, status, data) are the stored ones. Once decoding has
 * returned such a part unchanged, it is passed on as the same object, so that later comparisons see at once that nothing
 * in it changed.
 */

import type { KubeObject } from '#api/object.js'
import { hasGivenEmpty, holdsGivenEmpty, keepGivenEmpty } from '#json/given-empty.js'
import { isJsonObject, jsonEqual, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { goFieldsOf } from './decode/go-type.js'
import { type Decoded, decodeBuiltIn, decodeObject } from './decode.js'
import { areWritten } from './field-manager/managed-fields.js'
import type { ResourceDefinition } from './resource-definition.js'

/** Parts of stored objects that decoding, defaults included, is known to return unchanged. */
const settled = new WeakSet<object>()

const typeAndMetadata = 3

/** Kinds with hooks that write into the spec need a private copy of it. */
const mayShare = ({ convert, strategy }: ResourceDefinition): boolean =>
  convert === undefined && strategy.beginUpdate === undefined && strategy.canonicalize === undefined

const partOf = (value: JsonObject, stored: KubeObject, field: string): object | undefined => {
  const part = value[field]
  const isStored = field !== 'metadata' && part === stored[field]
  return isStored && typeof part === 'object' && part !== null ? part : undefined
}

/** The fields of both in upstream's order. */
const inOrder = (decoded: KubeObject, kept: JsonObject, schemaName: string): KubeObject => {
  const object = {} as KubeObject
  for (const { name } of goFieldsOf(goTypeName(schemaName))) {
    const value = kept[name] ?? decoded[name]
    if (value !== undefined) object[name] = value
  }
  keepGivenEmpty(object, decoded)
  return object
}

const withoutOwners = (value: JsonObject): JsonObject => {
  const { managedFields: _owners, ...metadata } = value.metadata as JsonObject
  return { ...value, metadata }
}

/** Like `decodeObject`, of a value that shares unpatched parts with `stored`. The result shares them too. */
export const decodePatched = (
  definition: ResourceDefinition,
  value: JsonValue,
  stored: KubeObject,
): Decoded => {
  const { schemaName, strategy } = definition
  if (schemaName === undefined || !isJsonObject(value) || !mayShare(definition))
    return decodeObject(definition, value)
  const kept: JsonObject = {}
  const given: JsonObject = {}
  for (const field of Object.keys(value)) {
    const part = partOf(value, stored, field)
    const isKept = part !== undefined && settled.has(part)
    setOwn(isKept ? kept : given, field, value[field]!)
  }
  const owners = isJsonObject(given.metadata) ? given.metadata.managedFields : undefined
  const areKept = areWritten(owners)
  const unowned = areKept ? withoutOwners(given) : given
  const { object: decoded, strictErrors } = decodeBuiltIn(definition.gvk, schemaName, unowned)
  const object = inOrder(decoded, kept, schemaName)
  if (areKept) object.metadata.managedFields = owners
  const { length } = Object.keys(object)
  const isOnlyMetadata =
    length === typeAndMetadata + Object.keys(kept).length && length === Object.keys(stored).length
  if (!isOnlyMetadata || strategy.defaultsMetadata === true) strategy.default?.(object)
  for (const field of Object.keys(given)) {
    const part = partOf(given, stored, field)
    if (part === undefined || !jsonEqual(object[field], part)) continue
    if (hasGivenEmpty(object) && holdsGivenEmpty(object[field])) continue
    object[field] = part
    settled.add(part)
  }
  return { object, strictErrors }
}
