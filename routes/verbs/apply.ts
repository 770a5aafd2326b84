/** Server-side apply: the field manager merges, and makes the object where there is none. */
import { goKindOf } from '#api/decoder-texts.js'
import { type ApiError, badRequest, conflict, failure } from '#api/errors.js'
import { formatGroupVersion, formatGroupVersionKind } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { isJsonObject, jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { decodeMade } from '#registry/decode.js'
import { decodePatched } from '#registry/decode-patched.js'
import { describeObject } from '#registry/field-manager/check-patch.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { ApiDeps } from '../api-deps.js'
import { reportStrictErrors } from '../decode-body.js'
import { checkIdentity } from '../identity.js'
import { convertPatched, type PatchCall } from './patched.js'
import { definitionOfBody, throughView, type ViewOwners } from './view.js'

/** Duplicate keys in the text of an apply are reported once its result is there. */
const reportDuplicates = ({ options, patch, ctx }: PatchCall): void => {
  const { textErrors } = patch()
  reportStrictErrors(textErrors, options.fieldValidation, ctx, () =>
    badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${textErrors.join('\n  ')}`,
    ),
  )
}

const sameButOwners = (a: KubeObject, b: KubeObject | undefined): boolean => {
  const bare = (object: KubeObject): KubeObject => {
    const { managedFields: _owners, ...metadata } = object.metadata
    return { ...object, metadata }
  }
  return b !== undefined && jsonEqual(bare(a), bare(b))
}

/** Upstream's converter of custom resources knows no Scale. */
const noScaleOfCustom = ({ gvk }: ResourceDefinition): string =>
  `request to convert CR to an invalid group/version: ${formatGroupVersion(gvk)}`

/**
 * For an object without managedFields upstream makes an entry from the live object, which fails for the Scale of a custom
 * resource: 500.
 */
const refuseOwnerless = (live: KubeObject | undefined, scale: ResourceDefinition): void => {
  if ((live?.metadata.managedFields ?? []).length > 0) return
  throw failure({
    code: 500,
    message: `failed to create manager for existing fields: failed to convert live object (/; ${formatGroupVersionKind(scale.gvk)}) to proper version: ${noScaleOfCustom(scale)}`,
  })
}

/** The merged object cannot be converted to the version of the request: 500, with the names that the configuration gives. */
const notConverted = (
  definition: ResourceDefinition,
  patchObject: JsonObject,
  problem: string,
): ApiError =>
  failure({
    code: 500,
    message: `failed to convert new object (${describeObject(patchObject, definition)}) to proper version: ${problem}`,
  })

/**
 * Decodes the merged object. A value that fits the schema of the merge but not the Go type is upstream's own fault: 500.
 */
const decodeMerged = (
  merged: KubeObject,
  definition: ResourceDefinition,
  patchObject: JsonObject,
  live: KubeObject | undefined,
): KubeObject => {
  const { group, version, kind } = definition.gvk
  const refuse = (problem: string) =>
    notConverted(
      definition,
      patchObject,
      `unable to convert unstructured object to ${group}/${version}, Kind=${kind}: ${problem}`,
    )
  return convertPatched(merged, definition, refuse, (value) =>
    live === undefined || definition.schemaName === undefined
      ? decodeMade(definition, value)
      : decodePatched(definition, value, live),
  ).object
}

/** Parsed only when there is an object to apply it to, or one may be made: errors in it do not come before a 404. */
const patchObjectOf = (call: PatchCall): JsonObject => {
  const patchObject = call.patch().value ?? {}
  if (isJsonObject(patchObject)) return patchObject
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goKindOf(patchObject)} into Go value of type map[string]interface {}`,
  )
}

export const applyChange = (call: PatchCall, deps: ApiDeps, owners: ViewOwners | undefined) => {
  const { target, ctx, options } = call
  const { definition, view, name } = target
  const body = definitionOfBody(target)
  const fieldManager = deps.fieldManagerOf(body)
  const isScaleOfCustom = definition.isCustom && body !== definition
  const merge = async (live: KubeObject | undefined): Promise<KubeObject> => {
    if (isScaleOfCustom) refuseOwnerless(live, body)
    const merged = await fieldManager.apply({
      live,
      manager: options.fieldManager,
      subresource: target.subresource,
      now: ctx.now,
      patch: patchObjectOf(call),
      force: options.force ?? false,
    })
    return finish(merged, live)
  }
  const finish = (merged: KubeObject, live: KubeObject | undefined): KubeObject => {
    const patchObject = patchObjectOf(call)
    const isKept = definition.isCustom && sameButOwners(merged, live)
    if (isScaleOfCustom && !isKept) throw notConverted(body, patchObject, noScaleOfCustom(body))
    const before = view === undefined ? live : undefined
    // An apply that changes nothing writes no defaults.
    const next =
      isKept && body === definition ? merged : decodeMerged(merged, body, patchObject, before)
    reportDuplicates(call)
    const { uid } = next.metadata
    if (live === undefined && uid)
      throw conflict(
        definition.gvr,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      )
    checkIdentity(next, target)
    return next
  }
  if (owners !== undefined) return throughView(target, owners, ctx, merge)
  return async (current: KubeObject | undefined): Promise<KubeObject> => {
    const live = current && (definition.convert?.fromStorage(current) ?? current)
    const next = await merge(live)
    return definition.convert?.toStorage(next) ?? next
  }
}
