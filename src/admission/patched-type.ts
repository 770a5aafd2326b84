/** The kind and apiVersion of an object after a change of admission. */
import { goKindOf, noKindText } from '#api/decoder-texts.js'
import { failure, internalError } from '#api/errors.js'
import { goQuote } from '#api/go-quote.js'
import {
  formatGroupVersion,
  formatGroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import { stringify } from '#api/json.js'
import { isJsonObject, withKeysInOrder } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** A 500 if they cannot be read. */
export const checkType = ({ gvk, isCustom }: ResourceDefinition, patched: JsonValue): void => {
  if (!isJsonObject(patched)) return
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
  if (!isCustom && (kind !== gvk.kind || apiVersion !== own))
    throw internalError(noKindText(kind, apiVersion))
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
