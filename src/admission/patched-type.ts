/** The kind and apiVersion of an object after a change of admission. */
import { goKindOf, noKindText } from '#api/decoder-texts.js'
import { failure, internalError } from '#api/errors.js'
import {
  formatGroupVersion,
  formatGroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import { internalType } from '#api/internal-type.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import { isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { schemaNameOfKind } from '#openapi/schemas.js'
import { DecodeError } from '#registry/decode/explain.js'
import { decodeType } from '#registry/decode.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/**
 * What a built-in kind that was made of another is read as, and why it cannot become what was asked for again. A reader that
 * is strict refuses fields that the kind does not have. Throws a 500 for what is not even that kind.
 */
export const foreignKindProblem = (
  { gvk }: ResourceDefinition,
  patched: JsonObject,
  isStrict: boolean,
): string => {
  const { apiVersion, kind } = patched as { apiVersion: string; kind: string }
  const given = { ...parseGroupVersion(apiVersion)!, kind }
  const schemaName = schemaNameOfKind(given)
  if (schemaName === undefined) throw internalError(noKindText(kind, apiVersion))
  let unknown: readonly string[]
  try {
    unknown = decodeType(schemaName, patched).strictErrors
  } catch (error) {
    throw error instanceof DecodeError ? internalError(error.message) : error
  }
  if (isStrict && unknown.length > 0)
    throw internalError(`strict decoding error: ${unknown.join(', ')}`)
  const [from, wanted] = [`${given.version}.${kind}`, formatGroupVersion(gvk)]
  return given.group === gvk.group
    ? `converting (${from}) to (${internalType(gvk.group, gvk.kind)}): unknown conversion`
    : `${from} is not suitable for converting to ${goQuote(wanted)} in scheme "pkg/runtime/scheme.go:111"`
}

/** 500 where nobody could read it. Of a built-in kind, yields the kind and version that it is now, where they are others. */
export const checkType = (
  { gvk, isCustom }: ResourceDefinition,
  patched: JsonValue,
): JsonObject | undefined => {
  if (!isJsonObject(patched)) return undefined
  for (const field of ['apiVersion', 'kind'] as const) {
    const given = patched[field] ?? ''
    if (typeof given !== 'string')
      throw internalError(
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(given)} into Go struct field .${field} of type string`,
      )
  }
  if (isCustom && !patched.kind)
    throw internalError(`Object 'Kind' is missing in '${stringify(withKeysInOrder(patched))}'`)
  const own = formatGroupVersion(gvk)
  const kind = (patched.kind || gvk.kind) as string
  const apiVersion = (patched.apiVersion || own) as string
  if (parseGroupVersion(apiVersion) === undefined)
    throw internalError(`unexpected GroupVersion string: ${apiVersion}`)
  const isOther = !isCustom && (kind !== gvk.kind || apiVersion !== own)
  return isOther ? (withKeysInOrder({ ...patched, kind, apiVersion }) as JsonObject) : undefined
}

/** Upstream's converter of custom resources knows the versions of their definition, and refuses what is of none. */
export const checkVersion = (object: JsonObject, { gvk, versions }: ResourceDefinition): void => {
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string }
  const gv = parseGroupVersion(apiVersion) ?? { group: '', version: '' }
  const fail = (message: string) => failure({ code: 500, message })
  if (gv.group !== gvk.group)
    throw fail(
      `${formatGroupVersionKind({ ...gv, kind })} is unstructured and is not suitable for converting to ${goQuote(formatGroupVersion(gvk))}`,
    )
  if (versions?.has(gv.version) !== true)
    throw fail(`request to convert CR from an invalid group/version: ${apiVersion}`)
}
