/** PATCH: four ways to change an object, one way to store what comes out (apiserver, handlers/patch.go). */
import type { FastifyRequest } from 'fastify'
import { goKindOf } from '#api/decoder-texts.js'
import {
  ApiError,
  badRequest,
  conflict,
  failure,
  invalid,
  notFound,
  problemOfDecoding,
  unsupportedMediaType,
} from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import { parseWithTrace } from '#api/json.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { decodeApplied, decodeObject } from '#registry/decode.js'
import { overflown, problemOf } from '#registry/patch/convertible.js'
import { goPrint } from '#registry/patch/go-print.js'
import { applyJsonPatch } from '#registry/patch/json.js'
import { applyMergePatch } from '#registry/patch/merge.js'
import { patchTypeOf as typeOfPatched } from '#registry/patch/patch-type.js'
import { patchedText } from '#registry/patch/patched-text.js'
import { applyStrategicMergePatch } from '#registry/patch/strategic.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { WriteOptions } from '#registry/validate-options.js'
import type { ApiDeps, Target, VerbHandler } from '../api-deps.js'
import { bodyOf, checkType, fieldValidationOf } from '../decode-body.js'
import { checkIdentity } from '../identity.js'
import { negotiateOutput } from '../negotiation.js'
import { makeContext } from '../request-context.js'
import { sendObject, sendStored } from '../respond.js'
import { patchOptionsOf } from '../write-options.js'
import { type Patch, type PatchType, parsePatch } from './patch-body.js'
import {
  definitionOfBody,
  hasTable,
  hooksOfView,
  ownersOfView,
  throughView,
  type ViewOwners,
} from './view.js'

const patchTypes: Readonly<Record<string, PatchType>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}
const namesOfTypes = Object.keys(patchTypes)

/** Built-in routes refuse a type that no route knows in go-restful's words; the rest is apiserver's. */
const patchTypeOf = (request: FastifyRequest, { definition }: Target): PatchType => {
  const header = request.bodyType
  const type = (header.split(';')[0] ?? '').trim()
  const found = Object.hasOwn(patchTypes, type) ? patchTypes[type] : undefined
  if (definition.isCustom) {
    const accepted = namesOfTypes.filter((name) => patchTypes[name] !== 'strategic')
    if (found === undefined || found === 'strategic') throw unsupportedMediaType(accepted)
    return found
  }
  if (found === undefined)
    throw failure({
      code: 415,
      reason: 'UnsupportedMediaType',
      message: '415: Unsupported Media Type',
      details: {},
    })
  return found
}

const patchInvalid = (shown: string, message: string): ApiError =>
  invalid({ group: '', kind: '' }, '', [invalidField('patch', shown, message)])

interface PatchCall {
  readonly table: ResourceTable
  readonly target: Target
  readonly ctx: RequestContext
  readonly patch: Patch
  readonly options: WriteOptions
}

const reportStrictErrors = (
  call: PatchCall,
  errors: readonly string[],
  shown: () => string,
): void => {
  if (errors.length === 0) return
  switch (fieldValidationOf(call.options.fieldValidation)) {
    case 'Warn':
      for (const error of errors) call.ctx.warn(error)
      break
    case 'Strict':
      throw patchInvalid(shown(), `strict decoding error: ${errors.join(', ')}`)
    case 'Ignore':
      break
  }
}

/**
 * A document without an apiVersion is read as a kind of upstream's internal version, whose fields have no names in
 * JSON: there is nothing in it, and so no name.
 */
const refuseVersionless = (call: PatchCall, result: JsonValue, text: () => string): void => {
  const { definition, name } = call.target
  if (definition.isCustom || !isJsonObject(result) || result.apiVersion) return
  const unknown = Object.keys(result)
    .filter((key) => key !== 'kind' && key !== 'apiVersion')
    .sort()
    .map((key) => `unknown field ${JSON.stringify(key)}`)
  reportStrictErrors(call, unknown, text)
  throw failure({
    code: 400,
    reason: 'BadRequest',
    message: `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
  })
}

/** What the patch makes of `shown`, decoded and checked as a body would be. */
const patched = (call: PatchCall, shown: KubeObject): KubeObject => {
  const { target, patch } = call
  const definition = definitionOfBody(target)
  const result =
    patch.type === 'json'
      ? applyJsonPatch(shown, patch.value)
      : patch.type === 'merge'
        ? applyMergePatch(shown, patch.value)
        : applyStrategicMergePatch(shown, patch.value, definition.schemaName ?? '')
  const text = (): string =>
    patch.type === 'strategic'
      ? goPrint(patch.value)
      : patchedText(result, shown, {
          schemaName: definition.schemaName,
          sortsNew: patch.type === 'merge',
        })
  const refuse = (problem: string): unknown => patchInvalid(text(), problem)
  if (patch.type !== 'strategic') refuseVersionless(call, result, text)
  let decoded: ReturnType<typeof decodeObject>
  if (patch.type === 'strategic') decoded = convertPatched(result, definition, refuse)
  else
    try {
      checkType(result, definition, call.table)
      decoded = decodeObject(definition, result)
      // Several are told in the order of upstream's text.
      if (decoded.strictErrors.length > 1)
        decoded = decodeObject(definition, parseWithTrace(text()).value)
    } catch (error) {
      if (error instanceof ApiError && error.code === 400) throw refuse(problemOfDecoding(error))
      throw error
    }
  reportStrictErrors(call, [...patch.textErrors, ...decoded.strictErrors], text)
  return decoded.object
}

const changeOf = (call: PatchCall, owners: ViewOwners | undefined) => {
  const { target, ctx } = call
  const { definition, view, name } = target
  if (view !== undefined) {
    const next = (shown: KubeObject): KubeObject => {
      const changed = patched(call, shown)
      checkIdentity(changed, target)
      return changed
    }
    return throughView(target, view, ctx, next, owners)
  }
  return (current: KubeObject | undefined): KubeObject => {
    if (current === undefined) throw notFound(definition.gvr, name)
    const next = patched(call, definition.convert?.fromStorage(current) ?? current)
    checkIdentity(next, target)
    return definition.convert?.toStorage(next) ?? next
  }
}

/** The text of an apply: its duplicate keys are looked at after the merge. */
const reportDuplicates = ({ options, patch, ctx }: PatchCall): void => {
  const { textErrors } = patch
  if (textErrors.length === 0) return
  const validation = fieldValidationOf(options.fieldValidation)
  if (validation === 'Warn') for (const error of textErrors) ctx.warn(error)
  if (validation === 'Strict')
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${textErrors.join('\n  ')}`,
    )
}

/**
 * What a patch made, through upstream's converter from unstructured: it lets integers overflow and has words of its
 * own. Only what the decoder refuses is looked at twice. Throws what `refuse` makes of the converter's problem.
 */
const convertPatched = (
  value: JsonValue,
  definition: ResourceDefinition,
  refuse: (problem: string) => unknown,
  decodeWith: typeof decodeApplied = decodeObject,
): ReturnType<typeof decodeObject> => {
  const decode = (from: JsonValue) => {
    try {
      return decodeWith(definition, from)
    } catch (error) {
      if (error instanceof ApiError && error.code === 400)
        return problemOfDecoding(error).replace(
          / into Go struct field \S+ of type /,
          ' into Go value of type ',
        )
      throw error
    }
  }
  let decoded = decode(value)
  const { schemaName } = definition
  if (typeof decoded === 'string' && schemaName !== undefined) {
    const type = typeOfPatched(schemaName)
    const problem = problemOf(value, type)
    decoded = problem ?? decode(overflown(value, type) ?? null)
  }
  if (typeof decoded === 'string') throw refuse(decoded)
  return decoded
}

/** The merged object as its Go type; what fits the schema of the merge and not the type is upstream's mistake: 500. */
const decodeMerged = (
  merged: KubeObject,
  definition: ResourceDefinition,
  patchObject: JsonObject,
): KubeObject => {
  const { group, version, kind } = definition.gvk
  const gvk = `${group}/${version}, Kind=${kind}`
  const { namespace = '', name } = (patchObject.metadata ?? {}) as { [key: string]: string }
  const refuse = (problem: string) =>
    failure({
      code: 500,
      message: `failed to convert new object (${namespace}/${name ?? merged.metadata.name}; ${gvk}) to proper version: unable to convert unstructured object to ${gvk}: ${problem}`,
    })
  return convertPatched(merged, definition, refuse, decodeApplied).object
}

/** Server-side apply: the field manager merges, and makes the object where there is none. */
const applyChange = (call: PatchCall, deps: ApiDeps, owners: ViewOwners | undefined) => {
  const { target, ctx, options } = call
  const { definition, view, name } = target
  const body = definitionOfBody(target)
  const fieldManager = deps.fieldManagerOf?.(body, target.subresource)
  if (fieldManager === undefined) throw badRequest('server-side apply is switched off')
  const patchObject = call.patch.value ?? {}
  if (!isJsonObject(patchObject))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goKindOf(patchObject)} into Go value of type map[string]interface {}`,
    )
  const merge = (live: KubeObject | undefined): KubeObject => {
    const merged = fieldManager.apply({
      live,
      manager: options.fieldManager,
      subresource: target.subresource,
      now: ctx.now,
      patch: patchObject,
      force: options.force ?? false,
    })
    reportDuplicates(call)
    const next = decodeMerged(merged, body, patchObject)
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
  if (view !== undefined) return throughView(target, view, ctx, merge, owners)
  return (current: KubeObject | undefined): KubeObject => {
    const live = current && (definition.convert?.fromStorage(current) ?? current)
    const next = merge(live)
    return definition.convert?.toStorage(next) ?? next
  }
}

export const patchObject: VerbHandler = async (target, request, reply, deps) => {
  const type = patchTypeOf(request, target)
  const { definition, store, view } = target
  const negotiated = negotiateOutput(request, definition, { table: hasTable(target) })
  const isApply = type === 'apply'
  const options = patchOptionsOf(request, isApply)
  const ctx = makeContext(target, request, reply, deps, options)
  let parsed: Patch | undefined
  const call: PatchCall = {
    target,
    ctx,
    // The object is looked for before its patch is.
    get patch() {
      parsed ??= parsePatch(type, bodyOf(request))
      return parsed
    },
    options,
    table: deps.table,
  }
  const owners = ownersOfView(target, ctx, deps.fieldManagerOf, isApply)
  const { stored, created } = await store.update(
    ctx,
    target.name,
    isApply ? applyChange(call, deps, owners) : changeOf(call, owners),
    {
      ...hooksOfView(view),
      forceAllowCreate: isApply && target.subresource === '',
      managedFieldsTracked: isApply || owners !== undefined,
      authorizeCreate: () => deps.authorizeCreate?.(request, target),
    },
  )
  const code = created ? 201 : 200
  if (view?.read !== undefined)
    return sendObject(target, request, reply, view.read(stored.object), { code, negotiated })
  return sendStored(target, request, reply, stored, { code, negotiated })
}
