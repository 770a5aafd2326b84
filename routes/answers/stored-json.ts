/** A stored object in the version of the request: as an object, and as its JSON. */
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { oncePer } from '#async/once.js'
import { metadataInOrder } from '#cacher/object-bytes.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { Copyable } from '#cacher/object-text.js'
import { stringify } from '#json/json.js'
import { withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { ordered } from '#registry/decode.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { partialObjectMetadata } from '#registry/table-printer.js'
import { MadeForms } from './made-forms.js'

/** The object in the version of the request. */
export const viewOf = (definition: ResourceDefinition, stored: StoredObject): KubeObject =>
  definition.convert?.fromStorage(stored.object) ?? stored.object

/** Upstream writes what has no Go type with its keys in order. */
export const inAlphabet = (object: object): JsonValue => withKeysInOrder(object as JsonObject)

/** What was sent, as the audit log shows it. */
export const asSent = (definition: ResourceDefinition, object: KubeObject): JsonObject =>
  (definition.isCustom ? inAlphabet(object) : ordered(definition, object)) as JsonObject

const forms = new MadeForms<StoredObject>(limits.madeFormsBytesMax)

/** A form of what is stored, made once for each version that somebody reads. */
export const madeOnce = (stored: StoredObject, form: string, make: () => Buffer): Buffer =>
  forms.get(stored, form, make)

/** Whether it is shown as it is stored; otherwise its bytes are made. */
export const isShownAsStored = ({ isCustom, convert }: ResourceDefinition): boolean =>
  !isCustom && convert === undefined

/** Its JSON. */
export const textOf = (definition: ResourceDefinition, stored: StoredObject): Copyable =>
  isShownAsStored(definition) ? stored.text : madeText(definition, stored)

/** The fields of every object come first, in upstream's order. */
const inOrder = ({ kind, apiVersion, metadata, ...rest }: KubeObject): KubeObject => ({
  kind,
  apiVersion,
  metadata: metadataInOrder(metadata),
  ...rest,
})

/** What has no Go type has no metadata either, where it is an object of nothing: what some dry runs of deletes answer with. */
const asUnstructured = ({ metadata, ...view }: KubeObject): JsonValue =>
  inAlphabet(Object.keys(metadata).length > 0 ? { ...view, metadata } : view)

const madeText = (definition: ResourceDefinition, stored: StoredObject): Buffer =>
  madeOnce(stored, formatGroupVersion(definition.gvk), () => {
    const view = viewOf(definition, stored)
    return Buffer.from(stringify(definition.isCustom ? asUnstructured(view) : inOrder(view)))
  })

const lineEnd = 0x0a

/** Its JSON and a line end. */
export const lineOf = (definition: ResourceDefinition, stored: StoredObject): Buffer => {
  const text = textOf(definition, stored)
  const bytes = Buffer.allocUnsafe(text.length + 1)
  bytes[text.copy(bytes, 0)] = lineEnd
  return bytes
}

/** Its metadata alone, read from the stored bytes where they are shown as they are. */
export const partialTextOf = (
  definition: ResourceDefinition,
  stored: StoredObject,
  apiVersion: string,
): Copyable => {
  const { convert, fieldAnnotations = [] } = definition
  if (convert === undefined && fieldAnnotations.length === 0)
    return stored.text.metadata(partialOpening(apiVersion), partialEnd)
  const partial = partialObjectMetadata(viewOf(definition, stored), apiVersion, definition)
  return Buffer.from(stringify(partial))
}

const partialEnd = Buffer.from('}')

/** `apiVersion` is one of the two that are negotiated. */
const partialOpening = oncePer((apiVersion) =>
  Buffer.from(`{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":`),
)

/** Items of built-in lists carry neither kind nor apiVersion. */
export const itemOf = (definition: ResourceDefinition, object: KubeObject): unknown => {
  if (definition.isCustom) return object
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object
  return { metadata: metadataInOrder(metadata), ...rest }
}
