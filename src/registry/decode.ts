/** Turns a parsed body into an object of its kind: types checked, unknown fields pruned, defaults written. */

import { cannotBeHandled } from '#api/errors.js'
import { formatGroupVersion, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { oncePer } from '#async/once.js'
import { copyWith } from '#json/copy-with.js'
import { forgetGivenEmpty, hasGivenEmpty, markGivenEmpty } from '#json/given-empty.js'
import { getOwn, isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonTrace } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName, schemaNameOfKind, schemaNames } from '#openapi/schemas.js'
import { type Decode, decoderOf } from './decode/compile.js'
import { copyUnstructured } from './decode/custom-object.js'
import { forgetEmptyListsOf } from './decode/empty-lists.js'
import { DecodeError, explain } from './decode/explain.js'
import { inGoOrder } from './decode/go-order.js'
import { type GoType, goTypeOfKey } from './decode/go-type.js'
import { sameRaw } from './decode/raw-fields.js'
import { withRepeatedKeys } from './decode/repeated-keys.js'
import { canonicalTime } from './decode/times.js'
import type { ResourceDefinition } from './resource-definition.js'

export interface Decoded {
  object: KubeObject
  /** What fieldValidation=Strict refuses and Warn reports: `unknown field "spec.x"`, in upstream's words and order. */
  strictErrors: string[]
}

interface CompiledType {
  readonly type: GoType
  readonly decode: Decode
}

const compiled = oncePer((schemaName): CompiledType => {
  const type = goTypeOfKey(goTypeName(schemaName))
  return { type, decode: decoderOf(type) }
})

/**
 * Decodes a value of a type of openapi/data/schemas.json, schema defaults included. Throws DecodeError, whose message is
 * that of Go's decoder. The result shares only raw JSON with `value`. It is marked when fields were given as empty.
 */
export const decodeType = (
  schemaName: string,
  value: JsonValue,
  trace?: JsonTrace,
  path = '',
): { value: JsonObject; strictErrors: string[] } => {
  const { type, decode } = compiled(schemaName)
  const state = { problem: false, givenEmpty: false, literals: trace?.literals }
  const hasRepeated = trace !== undefined && trace.entries.size > 0
  const single = hasRepeated ? withRepeatedKeys(type, value, trace) : value
  const decoded = decode(single ?? {}, state) as JsonObject
  if (state.givenEmpty) markGivenEmpty(decoded)
  const strictErrors = state.problem || trace !== undefined ? explain(type, value, trace, path) : []
  return { value: decoded, strictErrors }
}

/** Go writes these two first; a body may leave them out. */
const withType = (decoded: JsonObject | KubeObject, gvk: GroupVersionKind): JsonObject => {
  const { kind } = gvk
  const apiVersion = formatGroupVersion(gvk)
  const isThere = decoded.kind === kind && decoded.apiVersion === apiVersion
  return isThere ? decoded : Object.assign({ kind, apiVersion }, decoded, { kind, apiVersion })
}

/** Decodes a body by its schema, without the kind's own defaults. Throws an ApiError (400) as `decodeObject` does; `as` is the kind that was wanted. */
export const decodeBuiltIn = (
  gvk: GroupVersionKind,
  schemaName: string,
  value: JsonValue,
  trace?: JsonTrace,
  as?: string,
): Decoded => {
  try {
    const { value: decoded, strictErrors } = decodeType(schemaName, value, trace)
    const object = withType(decoded, gvk) as KubeObject
    return { object, strictErrors }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw cannotBeHandled(gvk, error.message, as)
  }
}

/** The group, version and kind in a custom object's body, which may differ from those of its path. */
export const saidGvk = (value: JsonValue, { group, version, kind }: GroupVersionKind) => {
  const said = isJsonObject(value) ? value : {}
  const gv = typeof said.apiVersion === 'string' ? parseGroupVersion(said.apiVersion) : undefined
  return { ...(gv ?? { group, version }), kind: typeof said.kind === 'string' ? said.kind : kind }
}

const decodeCustomObject = (
  definition: ResourceDefinition,
  value: JsonValue,
  trace?: JsonTrace,
  conform = definition.conform,
): Decoded => {
  const { gvk } = definition
  try {
    const { value: body, duplicates } = copyUnstructured((value ?? {}) as JsonObject, trace)
    // Upstream re-encodes the metadata before it reads it: keys are in order, a whole float is an integer, and one
    // beyond an int64 is printed as it is.
    const given = withKeysInOrder(((value ?? {}) as JsonObject).metadata ?? {})
    const rewritten = trace && { entries: trace.entries, literals: new Map() }
    const metadata = decodeType(schemaNames.objectMeta, given, rewritten, 'metadata')
    // No Go type holds the rest, so its empty fields are forgotten at once.
    forgetGivenEmpty(metadata.value)
    const object = {
      apiVersion: formatGroupVersion(gvk),
      kind: gvk.kind,
      ...body,
      metadata: metadata.value,
    }
    const strictErrors = [
      ...new Set([...duplicates, ...metadata.strictErrors, ...(conform?.(object) ?? [])]),
    ]
    return { object, strictErrors }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw cannotBeHandled(saidGvk(value, gvk), error.message, gvk.kind)
  }
}

/**
 * Throws an ApiError (400) in the words of upstream's decoder when a value has the wrong type. `trace` is what
 * parseWithTrace kept of the text. The kind's own defaults are written too. `said` is what the body names, where that is
 * another version that the route takes.
 */
export const decodeObject = (
  definition: ResourceDefinition,
  value: JsonValue,
  trace?: JsonTrace,
  said = definition.gvk,
): Decoded => {
  const { gvk, schemaName, strategy } = definition
  if (schemaName === undefined) return decodeCustomObject(definition, value, trace)
  const decoded = decodeBuiltIn(said, schemaName, value, trace)
  const { strictErrors } = decoded
  const object = said === gvk ? decoded.object : (withType(decoded.object, gvk) as KubeObject)
  strategy.default?.(object)
  return { object, strictErrors }
}

const isText = (value: JsonValue): boolean => typeof value === 'string'
const isTime = (value: JsonValue): boolean =>
  typeof value === 'string' && canonicalTime(value, false) !== undefined
/** Null counts as an empty text there (NestedNullCoercingStringMap). */
const isMapOfTexts = (value: JsonValue): boolean =>
  isJsonObject(value) && Object.values(value).every((text) => text === null || isText(text))
const isListOf = (isItem: (item: JsonValue) => boolean) => (value: JsonValue) =>
  Array.isArray(value) && value.every(isItem)

const readable: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  name: isText,
  generateName: isText,
  namespace: isText,
  uid: isText,
  resourceVersion: isText,
  selfLink: isText,
  creationTimestamp: isTime,
  deletionTimestamp: isTime,
  generation: Number.isInteger,
  deletionGracePeriodSeconds: Number.isInteger,
  labels: isMapOfTexts,
  annotations: isMapOfTexts,
  finalizers: isListOf(isText),
  ownerReferences: isListOf(isJsonObject),
}

/** Upstream's accessors of unstructured metadata ignore fields of a wrong type. */
const readableMetadata = (metadata: JsonValue): JsonValue =>
  isJsonObject(metadata)
    ? Object.fromEntries(
        Object.entries(metadata).filter(([name, value]) => getOwn(readable, name)?.(value) ?? true),
      )
    : metadata

/**
 * The same for what an apply or a webhook made of a decoded object: in a custom resource nothing is dropped any more, not
 * even nulls, and nothing is checked strictly.
 */
export const decodeMade = (definition: ResourceDefinition, value: JsonValue): Decoded => {
  if (definition.schemaName !== undefined) return decodeObject(definition, value)
  const { metadata = {}, ...content } = value as JsonObject
  const read = copyWith(content, { metadata: readableMetadata(metadata) })
  const { object } = decodeCustomObject(definition, read, undefined, definition.fillDefaults)
  return { object, strictErrors: [] }
}

/** The zero value of the type: the fields that Go always writes. A new object each time. */
export const emptyOf = (schemaName: string): JsonObject => decodeType(schemaName, {}).value

/** The name in openapi/data/go-fields.json of the struct that is stored; undefined for custom resources. */
export const storedStruct = ({ schemaName, convert, storageVersion }: ResourceDefinition) => {
  const stored = convert === undefined ? schemaName : schemaNameOfKind(storageVersion)
  return stored === undefined || schemaName === undefined ? undefined : goTypeName(stored)
}

/** Whether two objects that are otherwise equal have the same raw JSON, too. */
export const hasSameRaw = (
  definition: ResourceDefinition,
  next: JsonObject,
  previous: JsonObject,
): boolean => {
  const struct = storedStruct(definition)
  return struct === undefined || sameRaw(struct, next, previous)
}

/**
 * What storage in protobuf does to empty lists and maps: they become null where the field is always written, else they
 * are gone, and defaults apply as to all that is read. (A kind that is stored as JSON keeps them.) In place, but not in
 * parts that are shared with `stored`, where it has happened before.
 */
const forgetEmpty = (
  definition: ResourceDefinition,
  struct: string,
  object: KubeObject,
  stored?: KubeObject,
): void => {
  if (hasGivenEmpty(object)) {
    forgetGivenEmpty(object)
    definition.strategy.default?.(object)
  }
  if (!definition.storedAsJson) forgetEmptyListsOf(struct, object, stored)
}

/** The object with its fields in Go's order. The given one is not changed. */
export const ordered = (definition: ResourceDefinition, object: KubeObject): KubeObject => {
  const struct = storedStruct(definition)
  return struct === undefined ? object : inGoOrder(struct, object)
}

/**
 * The object as it will be read back after the write. The caller must not use `object` any more; it may share parts with
 * `stored`.
 */
export const asStored = (
  definition: ResourceDefinition,
  object: KubeObject,
  stored?: KubeObject,
): KubeObject => {
  const struct = storedStruct(definition)
  if (struct === undefined) return object
  forgetEmpty(definition, struct, object, stored)
  return inGoOrder(struct, object, stored)
}
