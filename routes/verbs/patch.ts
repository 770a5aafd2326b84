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
import { JsonSyntaxError, parseWithTrace } from '#api/json.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { decodeObject } from '#registry/decode.js'
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
import { parseYaml, YamlSyntaxError } from '#registry/yaml.js'
import type { ApiDeps, Target, VerbHandler } from '../api-deps.js'
import { bodyOf, checkType, fieldValidationOf } from '../decode-body.js'
import { checkIdentity } from '../identity.js'
import { negotiateOutput } from '../negotiation.js'
import { makeContext } from '../request-context.js'
import { sendObject, sendStored } from '../respond.js'
import { patchOptionsOf } from '../write-options.js'
import {
  definitionOfBody,
  hooksOfView,
  ownersOfView,
  throughView,
  type ViewOwners,
} from './view.js'

type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

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

interface Patch {
  readonly type: PatchType
  readonly value: JsonValue
  /** `duplicate field "data.k"`, `unknown field "from2"`: what the patch's own text has of strict errors. */
  readonly textErrors: readonly string[]
}

const duplicatesOf = (
  value: JsonValue,
  keys: ReadonlyMap<object, readonly (readonly [string, JsonValue])[]>,
  path: string,
): string[] => {
  if (keys.size === 0 || typeof value !== 'object' || value === null) return []
  if (Array.isArray(value))
    return value.flatMap((item, i) => duplicatesOf(item, keys, `${path}[${i}]`))
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`)
  const seen = new Set<string>()
  const own: string[] = []
  for (const [key] of keys.get(value) ?? []) {
    if (seen.has(key)) own.push(`duplicate field "${at(key)}"`)
    seen.add(key)
  }
  return [
    ...new Set(own),
    ...Object.entries(value).flatMap(([key, item]) => duplicatesOf(item, keys, at(key))),
  ]
}

const operationFields = new Set(['op', 'path', 'from', 'value'])

const jsonPatchErrors = (
  value: JsonValue,
  keys: ReadonlyMap<object, readonly (readonly [string, JsonValue])[]>,
): string[] => [
  ...duplicatesOf(value, keys, ''),
  ...(Array.isArray(value) ? value : []).flatMap((operation, i) =>
    isJsonObject(operation)
      ? Object.keys(operation)
          .filter((key) => !operationFields.has(key))
          .map((key) => `unknown field "[${i}].${key}"`)
      : [],
  ),
]

/** Go's scanner has words of its own for a tab that follows a plain scalar. */
const goYamlMessage = (text: string, message: string): string =>
  /[^\s:,[\]{}'"|>-][ ]*\n\t/.test(text)
    ? message.replace(
        'found character that cannot start any token',
        'found a tab character that violates indentation',
      )
    : message

/** YAML that is JSON without anything peculiar, which is what most clients send; the YAML parser is many times slower. */
const plainJsonOf = (text: string): JsonValue | undefined => {
  if (!text.startsWith('{')) return undefined
  try {
    const { value, trace } = parseWithTrace(text)
    return trace === undefined ? value : undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

const parsePatch = (type: PatchType, body: Buffer): Patch => {
  const text = body.toString('utf8')
  if (type === 'apply') {
    const json = plainJsonOf(text)
    if (json !== undefined) return { type, value: json, textErrors: [] }
    try {
      const { value, duplicates } = parseYaml(text)
      return { type, value, textErrors: duplicates }
    } catch (error) {
      if (error instanceof YamlSyntaxError)
        throw badRequest(
          `error decoding YAML: error converting YAML to JSON: ${goYamlMessage(text, error.message)}`,
        )
      throw error
    }
  }
  try {
    const { value, trace } = parseWithTrace(text)
    const keys = trace?.entries ?? new Map()
    const errors = type === 'json' ? jsonPatchErrors(value, keys) : duplicatesOf(value, keys, '')
    return {
      type,
      value,
      textErrors: type === 'json' ? errors.map((e) => `json patch ${e}`) : errors,
    }
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw badRequest(
        type === 'strategic' ? error.message : `error decoding patch: ${error.message}`,
      )
    throw error
  }
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
    patch.type === 'strategic' ? goPrint(patch.value) : patchedText(result, shown)
  const refuse = (problem: string): unknown => patchInvalid(text(), problem)
  let decoded: ReturnType<typeof decodeObject>
  if (patch.type === 'strategic') decoded = convertPatched(result, definition, refuse)
  else
    try {
      checkType(result, definition, call.table)
      decoded = decodeObject(definition, result)
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
): ReturnType<typeof decodeObject> => {
  const decode = (from: JsonValue) => {
    try {
      return decodeObject(definition, from)
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
  return convertPatched(merged, definition, (problem) =>
    failure({
      code: 500,
      message: `failed to convert new object (${namespace}/${name ?? merged.metadata.name}; ${gvk}) to proper version: unable to convert unstructured object to ${gvk}: ${problem}`,
    }),
  ).object
}

/** Server-side apply: the field manager merges, and makes the object where there is none. */
const applyChange = (call: PatchCall, deps: ApiDeps, owners: ViewOwners | undefined) => {
  const { target, ctx, patch, options } = call
  const { definition, view, name } = target
  const body = definitionOfBody(target)
  const fieldManager = deps.fieldManagerOf?.(body, target.subresource)
  if (fieldManager === undefined) throw badRequest('server-side apply is switched off')
  const patchObject = patch.value ?? {}
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
  const negotiated = negotiateOutput(request, definition)
  const isApply = type === 'apply'
  const options = patchOptionsOf(request, isApply)
  const patch = parsePatch(type, bodyOf(request))
  const ctx = makeContext(target, request, reply, deps, options)
  const call: PatchCall = { target, ctx, patch, options, table: deps.table }
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
