/** A stored object in the version of the request: as an object, and as its JSON. */
import { stringify } from '#api/json.js'
import { isJsonObject, setOwn } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** The object in the version of the request. */
export const viewOf = (definition: ResourceDefinition, stored: StoredObject): KubeObject =>
  definition.convert?.fromStorage(stored.object) ?? stored.object

const sorted = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value).sort()) setOwn(copy, key, sorted(value[key]!))
  return copy
}

/** Upstream writes what has no Go type with its keys in order. */
export const inAlphabet = (object: object): JsonValue => sorted(object as JsonObject)

const made = new WeakMap<StoredObject, Map<ResourceDefinition, Buffer>>()

/** Its JSON and a line end; made once for each version that somebody reads. */
export const bytesOf = (definition: ResourceDefinition, stored: StoredObject): Buffer => {
  if (!definition.isCustom && definition.convert === undefined) return stored.json
  let views = made.get(stored)
  if (views === undefined) {
    views = new Map()
    made.set(stored, views)
  }
  let bytes = views.get(definition)
  if (bytes === undefined) {
    const view = viewOf(definition, stored)
    bytes = Buffer.from(`${stringify(definition.isCustom ? inAlphabet(view) : view)}\n`)
    views.set(definition, bytes)
  }
  return bytes
}

/** Items of built-in lists carry neither kind nor apiVersion. */
export const itemOf = (definition: ResourceDefinition, object: KubeObject): unknown => {
  if (definition.isCustom) return object
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object
  return rest
}
