/** How upstream's decoders refuse what is not what it should be (encoding/json; apimachinery, runtime.Scheme). */
import { goQuote } from './go-quote.js'
import { parseGroupVersion } from './group-version.js'
import type { JsonValue } from './object.js'

/** What encoding/json says that it found: `json: cannot unmarshal array into …`. */
export const goKindOf = (value: JsonValue): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'bigint' ? 'number' : typeof value
}

/** What has no kind and apiVersion to look at first, because it is no object. */
export const noObjectText = (value: JsonValue): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`

/** No client's apiVersion: it is the form that upstream's own code works on. */
const internalVersion = '__internal'

export const noKindText = (kind: string, apiVersion: string): string => {
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion }
  const where =
    version === internalVersion
      ? `the internal version of group ${goQuote(group)}`
      : `version ${goQuote(apiVersion)}`
  return `no kind ${goQuote(kind)} is registered for ${where} in scheme "pkg/runtime/scheme.go:111"`
}

/** Of the text itself all lines are one error, as Go's decoder gives them; each is a warning of its own. */
export const strictText = (
  textErrors: readonly string[],
  fieldErrors: readonly string[],
): string => {
  const text = textErrors.join('\n  ')
  const all = text === '' ? fieldErrors : [`yaml: unmarshal errors:\n  ${text}`, ...fieldErrors]
  return `strict decoding error: ${all.join(', ')}`
}
