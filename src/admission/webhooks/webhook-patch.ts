/** What a mutating webhook answered, put into the object (plugin/webhook/mutating/dispatcher.go). */
import { formatTime } from '#api/clock.js'
import { goKindOf } from '#api/decoder-texts.js'
import { failure, internalError } from '#api/errors.js'
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { JsonSyntaxError, parse } from '#json/json.js'
import { getOwn, isJsonObject, jsonEqual, replaceFields } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { applyOperations, JsonPatchProblem } from '#registry/patch/json.js'
import { checkType, checkVersion, foreignKindProblem } from '../patched-type.js'
import { decodeVersion, type VersionedRequest } from '../versioned-request.js'
import type { WebhookAnswer } from './call-webhook.js'

/** Throws a plain Error for what is no patch: that is a failed call. */
export const decodePatch = (patch: string): JsonObject[] => {
  const undecodable = (why: string) =>
    new Error(`received undecodable patch in webhook response: ${why}`)
  const noPatch = (kind: string, type: string) =>
    undecodable(`json: cannot unmarshal ${kind} into Go value of type jsonpatch.${type}`)
  try {
    const value = parse(Buffer.from(patch, 'base64').toString()) ?? []
    if (!Array.isArray(value)) throw noPatch(goKindOf(value), 'Patch')
    return value.map((operation) => {
      if (!isJsonObject(operation)) throw noPatch(goKindOf(operation), 'Operation')
      return operation
    })
  } catch (error) {
    throw error instanceof JsonSyntaxError ? undecodable(error.message) : error
  }
}

const applied = (object: KubeObject, patch: readonly JsonObject[]): JsonValue => {
  try {
    return applyOperations(object, patch)
  } catch (error) {
    throw error instanceof JsonPatchProblem ? internalError(error.message) : error
  }
}

/**
 * Whether something of the object is not in the value. What is written though it is empty (`status: {}`) need not be: Go
 * would write it again.
 */
const isReduced = (object: JsonValue, value: JsonValue | undefined): boolean => {
  if (Array.isArray(object))
    return object.some((item, at) => isReduced(item, (value as JsonValue[] | undefined)?.[at]))
  if (!isJsonObject(object)) return object !== null && (value ?? null) === null
  return Object.keys(object).some((key) =>
    isReduced(object[key]!, getOwn((value ?? undefined) as JsonObject | undefined, key)),
  )
}

/** What a webhook has patched already: its times are those of JSON. */
const patchedBefore = new WeakSet<object>()

/**
 * Whether this request has written itself among the owners of fields. Upstream's time of that has a fraction of a second,
 * which any patch takes away: to its comparison that is a change.
 */
const hasFineTime = ({ original, ctx }: VersionedRequest): boolean => {
  const { object, oldObject } = original
  if (object === undefined || patchedBefore.has(object)) return false
  const before = oldObject?.metadata.managedFields ?? []
  const now = formatTime(ctx.now)
  const isNew = (entry: ManagedFieldsEntry): boolean =>
    entry.time === now && !before.some((earlier) => jsonEqual(earlier, entry))
  return object.metadata?.managedFields?.some(isNew) ?? false
}

/** Throws a 500 where it can no longer be decoded: failurePolicy does not cover that. */
const decoded = (request: VersionedRequest, value: JsonValue): JsonObject => {
  const { definition } = request
  // The options of a connection are not an object of the API, so nothing is known of their fields.
  if (!definition.isCustom && definition.schemaName === undefined) return value as JsonObject
  const foreign = checkType(definition, value)
  if (foreign !== undefined)
    throw failure({ code: 500, message: foreignKindProblem(definition, foreign, false) })
  if (definition.isCustom && isJsonObject(value)) checkVersion(value, definition)
  return decodeVersion(request, value).object
}

/** In place: the chain holds on to the object. Yields whether anything changed. */
export const patchInPlace = (
  attributes: VersionedRequest,
  webhook: string,
  { patch, patchType }: WebhookAnswer,
): boolean => {
  const operations = patch ? decodePatch(patch) : []
  if (operations.length === 0) return false
  const { object } = attributes
  if (object === undefined)
    throw internalError(
      `admission webhook ${goQuote(webhook)} attempted to modify the object, which is not supported for this operation`,
    )
  if (patchType !== 'JSONPatch')
    throw new Error(`unsupported patch type ${goQuote(patchType ?? '')}`)
  const value = applied(object, operations)
  const next = decoded(attributes, value)
  // Upstream compares before it prunes, and before a default takes the place of what was removed.
  const hasChanged = attributes.definition.isCustom
    ? !jsonEqual(value, object)
    : !jsonEqual(next, object) || isReduced(object, value) || hasFineTime(attributes)
  if (attributes.original.object !== undefined) patchedBefore.add(attributes.original.object)
  replaceFields(object, next)
  return hasChanged
}
