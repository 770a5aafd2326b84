/** Decodes and checks the result of a patch, as it would a body. */
import { ApiError, badRequest, internalError, invalid, problemOfDecoding } from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import { formatGroupVersion, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { readWritten, withWrittenNumbers } from '#json/as-written.js'
import { parseWithTrace } from '#json/json.js'
import { isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { holdsRaw } from '#registry/decode/raw-fields.js'
import { type Decoded, decodeObject } from '#registry/decode.js'
import { decodePatched } from '#registry/decode-patched.js'
import { goPrint } from '#registry/go-print.js'
import { overflown, problemOf } from '#registry/patch/convertible.js'
import { applyJsonPatch } from '#registry/patch/json.js'
import { applyMergePatch, replaceByMergePatch } from '#registry/patch/merge.js'
import { documentOf, textOfJsonPatch, textOfMergePatch } from '#registry/patch/patched-text.js'
import { applyStrategicMergePatch, leftOfStrategicMergePatch } from '#registry/patch/strategic.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { WriteOptions } from '#registry/validate-options.js'
import type { Target } from '../api-deps.js'
import { checkType, reportStrictErrors } from '../decode-body.js'
import { checkName } from '../identity.js'
import type { Patch } from './patch-body.js'
import { inOtherVersion } from './patched-version.js'
import { definitionOfBody } from './view.js'

export interface PatchCall {
  readonly table: ResourceTable
  readonly target: Target
  readonly ctx: RequestContext
  /** Parses the patch. A function, because a missing object is reported before a bad patch. */
  patch(): Patch
  readonly options: WriteOptions
}

const patchInvalid = (shown: string, message: string): ApiError =>
  invalid({ group: '', kind: '' }, '', [invalidField('patch', shown, message)])

/**
 * Decodes the result of a patch like upstream's converter from unstructured, which lets integers overflow and has its own
 * error texts. It is consulted only for values that the decoder refuses. Throws `refuse(problem)`.
 */
export const convertPatched = (
  value: JsonValue,
  definition: ResourceDefinition,
  refuse: (problem: string) => unknown,
  decodeValue: (value: JsonValue) => Decoded,
): Decoded => {
  const decode = (from: JsonValue) => {
    try {
      return decodeValue(from)
    } catch (error) {
      if (error instanceof ApiError && error.code === 400)
        return problemOfDecoding(error).replace(
          / into Go struct field \S+ of type /,
          ' into Go value of type ',
        )
      throw error
    }
  }
  const { schemaName } = definition
  // On the way through Go's maps what is kept as it was written loses its order.
  let decoded = decode(holdsRaw(schemaName) ? withKeysInOrder(value) : value)
  if (typeof decoded === 'string' && schemaName !== undefined) {
    const problem = problemOf(value, schemaName)
    decoded = problem ?? decode(overflown(value, schemaName))
  }
  if (typeof decoded === 'string') throw refuse(decoded)
  return decoded
}

const reportErrors = (
  { options, ctx }: PatchCall,
  errors: readonly string[],
  shown: () => string,
): void =>
  reportStrictErrors(errors, options.fieldValidation, ctx, () =>
    patchInvalid(shown(), `strict decoding error: ${errors.join(', ')}`),
  )

/** `apps/` has none in its group, and `/` in any; others without one name no kind that is known. */
const hasVersion = ({ apiVersion }: JsonObject, { group }: GroupVersionKind): boolean => {
  const given = apiVersion ?? ''
  return !['', '/', `${group}/`].includes(given as string)
}

/**
 * Upstream reads a document without an apiVersion as its internal version, whose fields have no JSON names: the object is
 * empty, and has no name.
 */
const refuseVersionless = (call: PatchCall, result: JsonValue, text: () => string): void => {
  const { definition, name } = call.target
  if (definition.isCustom || !isJsonObject(result) || hasVersion(result, definition.gvk)) return
  const unknown = Object.keys(result)
    .filter((key) => key !== 'kind' && key !== 'apiVersion')
    .sort()
    .map((key) => `unknown field ${goQuote(key)}`)
  reportErrors(call, unknown, text)
  throw badRequest(
    `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
  )
}

interface OfOwnVersion {
  readonly value: JsonValue
  /** The definition that it is decoded by. */
  readonly definition: ResourceDefinition
  /** Why it cannot be written, thrown after it was decoded. */
  readonly refusal?: ApiError
}

/**
 * A patch may change the apiVersion of a custom resource. Upstream then prunes by the schema of that version (of the main
 * resource only), and validation refuses it. A patch of the status changes no apiVersion.
 */
const withOwnVersion = (call: PatchCall, result: JsonValue): OfOwnVersion => {
  const { view, name, subresource } = call.target
  const definition = definitionOfBody(call.target)
  const { gvk } = definition
  const same = { value: result, definition }
  if (!definition.isCustom || view !== undefined || !isJsonObject(result) || !result.kind)
    return same
  const { apiVersion, kind } = result
  const expected = formatGroupVersion(gvk)
  if (apiVersion === null)
    throw badRequest('.apiVersion accessor error: <nil> is of the type <nil>, expected string')
  if ((apiVersion ?? '') === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  const gv = typeof apiVersion === 'string' ? parseGroupVersion(apiVersion) : undefined
  if (gv === undefined || apiVersion === expected) return same
  const isOfKind = gv.group === gvk.group && kind === gvk.kind
  const conform = (object: KubeObject): string[] => {
    object.apiVersion = formatGroupVersion(gv)
    const unknown = definition.conform?.(object) ?? []
    object.apiVersion = expected
    return unknown
  }
  const read = { ...definition, conform: isOfKind ? conform : () => [] }
  if (subresource === 'status')
    return { value: { ...result, apiVersion: expected }, definition: read }
  const refusal = invalid({ group: gv.group, kind: String(kind) }, name, [
    ...(kind === gvk.kind ? [] : [invalidField('kind', kind, `must be ${gvk.kind}`)]),
    invalidField('apiVersion', apiVersion, `must be ${expected}`),
  ])
  const value = { ...result, apiVersion: expected, kind: gvk.kind }
  return { value, definition: read, refusal }
}

/** What a patch was applied to is printed with its keys in order: apiVersion is looked at before kind. */
const checkPatchedType = (call: PatchCall, result: JsonValue): void => {
  const isPrinted = isJsonObject(result) && (typeof result.kind !== 'string' || result.kind === '')
  checkType(isPrinted ? withKeysInOrder(result) : result, definitionOfBody(call.target), call.table)
}

/** For custom resources the name is checked before the type. Throws 400 when it is not the name in the URL. */
const refuseOtherName = ({ target }: PatchCall, result: JsonValue): void => {
  const { definition, view, name } = target
  if (!definition.isCustom || view !== undefined || !isJsonObject(result) || !result.kind) return
  const { gvk } = definition
  if (result.kind === gvk.kind && result.apiVersion === formatGroupVersion(gvk)) return
  const { name: given } = (result.metadata ?? {}) as { name?: JsonValue }
  if (typeof given === 'string') checkName(given, name)
}

const decodeText = (definition: ResourceDefinition, text: string): Decoded => {
  const { value, trace } = parseWithTrace(text)
  return decodeObject(definition, value, trace)
}

/** Upstream reports the first problem in its own text, whose keys are in another order than ours. */
const firstProblem = (definition: ResourceDefinition, text: string): string | undefined => {
  try {
    decodeText(definition, text)
  } catch (error) {
    if (error instanceof ApiError && error.code === 400) return problemOfDecoding(error)
  }
  return undefined
}

const apply = (call: PatchCall, shown: KubeObject, patch: JsonValue): JsonValue => {
  switch (call.patch().type) {
    case 'json':
      return applyJsonPatch(shown, patch)
    case 'merge':
      // The patch itself also went through Go maps.
      return isJsonObject(patch)
        ? applyMergePatch(shown, withKeysInOrder(patch) as JsonObject)
        : replaceByMergePatch(patch)
    default:
      return applyStrategicMergePatch(shown, patch, definitionOfBody(call.target).schemaName ?? '')
  }
}

/** The value in messages: the rest of a strategic patch, else the patched object, with scalars as they are written. */
const printed = (call: PatchCall, shown: KubeObject): string => {
  const { type, asWritten } = call.patch()
  const patch = asWritten()
  const { schemaName } = definitionOfBody(call.target)
  if (type === 'strategic')
    return goPrint(leftOfStrategicMergePatch(shown, patch, schemaName ?? ''))
  const document = documentOf(shown, schemaName)
  return type === 'json' ? textOfJsonPatch(document, patch) : textOfMergePatch(document, patch)
}

export const patched = (call: PatchCall, shown: KubeObject): KubeObject => {
  const { target } = call
  const patch = call.patch()
  const definition = definitionOfBody(target)
  // What is kept as it was written has the order and the numbers of upstream's text. Of a strategic patch, Go's maps are
  // all that is left.
  const keepsText = patch.type !== 'strategic' && holdsRaw(definition.schemaName)
  const given = keepsText ? (withWrittenNumbers(shown as JsonObject) as KubeObject) : shown
  const text = (): string => printed(call, given)
  const made = apply(call, given, patch.value)
  const { value: result, trace } = keepsText
    ? parseWithTrace(text())
    : patch.hasWritten
      ? readWritten(made)
      : { value: made, trace: undefined }
  const refuse = (problem: string): unknown => patchInvalid(text(), problem)
  refuseOtherName(call, result)
  if (patch.type !== 'strategic') refuseVersionless(call, result, text)
  const decode = (value: JsonValue, as = definition): Decoded => {
    if (patch.type !== 'strategic' && trace !== undefined) return decodeObject(as, value, trace)
    return target.view === undefined ? decodePatched(as, value, shown) : decodeObject(as, value)
  }
  let decoded: Decoded
  let refusal: ApiError | undefined
  if (patch.type === 'strategic') {
    decoded = convertPatched(result, definition, refuse, decode)
    // The converter goes through Go maps, and puts what it found in order.
    decoded = { ...decoded, strictErrors: [...decoded.strictErrors].sort() }
  } else {
    const other = inOtherVersion(call.table, target, result)
    let isOfType = false
    try {
      const own: OfOwnVersion = other ?? withOwnVersion(call, result)
      refusal = own.refusal
      if (other === undefined) checkPatchedType(call, own.value)
      isOfType = true
      decoded = decode(own.value, own.definition)
      // Several are told in the order of upstream's text.
      if (decoded.strictErrors.length > 1) decoded = decodeText(own.definition, text())
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 400) throw error
      const first = isOfType ? firstProblem(other?.definition ?? definition, text()) : undefined
      throw refuse(first ?? problemOfDecoding(error))
    }
    if (other !== undefined) decoded = { ...decoded, object: other.convert(decoded.object) }
  }
  reportErrors(call, [...patch.textErrors, ...decoded.strictErrors], text)
  if (refusal !== undefined) throw refusal
  return decoded.object
}
