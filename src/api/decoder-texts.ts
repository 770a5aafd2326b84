/** Error texts of upstream's decoders (encoding/json; apimachinery, runtime.Scheme). */
import { goQuote } from '#go/quote.js'
import type { JsonValue } from '#json/value.js'
import { parseGroupVersion } from './group-version.js'

/** What encoding/json says that it found: `json: cannot unmarshal array into …`. */
export const goKindOf = (value: JsonValue): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'bigint' ? 'number' : typeof value
}

/** For a value that is not an object, so that it has no kind and apiVersion to look at. */
export const noObjectText = (value: JsonValue): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`

/** The form that upstream's own code works on; no client may send it. */
const internalVersion = '__internal'

export const noKindText = (kind: string, apiVersion: string): string => {
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion }
  const where =
    version === internalVersion
      ? `the internal version of group ${goQuote(group)}`
      : `version ${goQuote(apiVersion)}`
  return `no kind ${goQuote(kind)} is registered for ${where} in scheme "pkg/runtime/scheme.go:111"`
}

/**
 * Strict errors of the text itself are one error of several lines, as Go's decoder returns them, but a warning for each
 * line.
 */
export const strictText = (
  textErrors: readonly string[],
  fieldErrors: readonly string[],
): string => {
  const text = textErrors.join('\n  ')
  const all = text === '' ? fieldErrors : [`yaml: unmarshal errors:\n  ${text}`, ...fieldErrors]
  return `strict decoding error: ${all.join(', ')}`
}
