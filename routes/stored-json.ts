/** A stored object in the version of the request: as an object, and as its JSON. */
import { formatGroupVersion } from '#api/group-version.js'
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

let made = new WeakMap<StoredObject, Map<string, Buffer>>()
let madeBytes = 0

/**
 * A form of what is stored, made once for each version that somebody reads. All of it is let go of at once when it is
 * too much: its objects may live as long as the server.
 */
export const madeOnce = (stored: StoredObject, form: string, make: () => Buffer): Buffer => {
  let forms = made.get(stored)
  const known = forms?.get(form)
  if (known !== undefined) return known
  const bytes = make()
  if (madeBytes > limits.objectTextsBytesMax) {
    made = new WeakMap()
    madeBytes = 0
    forms = undefined
  }
  madeBytes += bytes.length
  if (forms === undefined) made.set(stored, new Map([[form, bytes]]))
  else forms.set(form, bytes)
  return bytes
}

/** Its JSON and a line end. */
export const bytesOf = (definition: ResourceDefinition, stored: StoredObject): Buffer => {
  if (!definition.isCustom && definition.convert === undefined) return stored.json
  return madeOnce(stored, formatGroupVersion(definition.gvk), () => {
    const view = viewOf(definition, stored)
    return Buffer.from(`${stringify(definition.isCustom ? inAlphabet(view) : view)}\n`)
  })
}

/** The same for who shows it once: what is at hand is not kept for others. */
export const bytesOnce = (definition: ResourceDefinition, stored: StoredObject): Buffer =>
  !definition.isCustom && definition.convert === undefined
    ? stored.jsonOnce()
    : bytesOf(definition, stored)

/** Items of built-in lists carry neither kind nor apiVersion. */
export const itemOf = (definition: ResourceDefinition, object: KubeObject): unknown => {
  if (definition.isCustom) return object
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object
  return rest
}
