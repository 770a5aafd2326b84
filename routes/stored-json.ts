/** A stored object in the version of the request: as an object, and as its JSON. */
import { stringify } from '#api/json.js'
import type { KubeObject } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** The object in the version of the request. */
export const viewOf = (definition: ResourceDefinition, stored: StoredObject): KubeObject =>
  definition.convert?.fromStorage(stored.object) ?? stored.object

const converted = new WeakMap<StoredObject, Map<ResourceDefinition, Buffer>>()

/** Its JSON; made once for each version that somebody reads. */
export const bytesOf = (definition: ResourceDefinition, stored: StoredObject): Buffer => {
  if (definition.convert === undefined) return stored.json
  let views = converted.get(stored)
  if (views === undefined) {
    views = new Map()
    converted.set(stored, views)
  }
  let bytes = views.get(definition)
  if (bytes === undefined) {
    bytes = Buffer.from(stringify(viewOf(definition, stored)))
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
