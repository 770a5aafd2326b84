/** A stored object in the version of the request: as an object, and as its JSON. */
import { stringify } from '#api/json.js'
import { withKeysInOrder } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** The object in the version of the request. */
export const viewOf = (definition: ResourceDefinition, stored: StoredObject): KubeObject =>
  definition.convert?.fromStorage(stored.object) ?? stored.object

/** Upstream writes what has no Go type with its keys in order. */
export const inAlphabet = (object: object): JsonValue => withKeysInOrder(object as JsonObject)

type Views = WeakMap<StoredObject, Map<ResourceDefinition, Buffer>>
let made: Views = new WeakMap()
let madeBytes = 0

/** What was made is let go of all at once when it is too much: its objects may live as long as the server. */
const keep = (stored: StoredObject, definition: ResourceDefinition, bytes: Buffer): void => {
  if (madeBytes > limits.objectTextsBytesMax) {
    made = new WeakMap()
    madeBytes = 0
  }
  madeBytes += bytes.length
  const views = made.get(stored)
  if (views === undefined) made.set(stored, new Map([[definition, bytes]]))
  else views.set(definition, bytes)
}

/** Its JSON and a line end; made once for each version that somebody reads. */
export const bytesOf = (definition: ResourceDefinition, stored: StoredObject): Buffer => {
  if (!definition.isCustom && definition.convert === undefined) return stored.json
  const known = made.get(stored)?.get(definition)
  if (known !== undefined) return known
  const view = viewOf(definition, stored)
  const bytes = Buffer.from(`${stringify(definition.isCustom ? inAlphabet(view) : view)}\n`)
  keep(stored, definition, bytes)
  return bytes
}

/** Items of built-in lists carry neither kind nor apiVersion. */
export const itemOf = (definition: ResourceDefinition, object: KubeObject): unknown => {
  if (definition.isCustom) return object
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object
  return rest
}
