/** Files of configuration as upstream's decoders read them: YAML or JSON, and what is wrong with it in their words. */
import { noKindText, noObjectText, strictText } from '#api/decoder-texts.js'
import { parseGroupVersion } from '#api/group-version.js'
import { typeMetaOf } from '#api/type-meta.js'
import { JsonSyntaxError, parseWithTrace } from '#json/json.js'
import { isJsonObject, setOwn, withKeysInOrder } from '#json/object.js'
import type { JsonTrace } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type GoType, goFieldsOf, goTypeOfKey } from './decode/go-type.js'
import { decodeType } from './decode.js'
import { parseYaml } from './yaml/yaml.js'

/** The text names a type that is not known. */
export class UnknownTypeError extends Error {}

interface ParsedText {
  readonly value: JsonValue
  readonly trace?: JsonTrace
  readonly duplicates: readonly string[]
}

const parseText = (text: string): ParsedText => {
  if (text.trimStart().startsWith('{')) return { ...parseWithTrace(text), duplicates: [] }
  const { value, duplicates } = parseYaml(text)
  return { value: withKeysInOrder(value), duplicates }
}

/** What a text is, by its apiVersion and kind: `group/version kind`. */
type KnownTypes = Readonly<Record<string, string>>

interface TypeDefaults {
  readonly kind?: string
  readonly apiVersion?: string
}

const typeOf = (
  value: JsonValue,
  text: string,
  types: KnownTypes,
  defaults: TypeDefaults,
): string => {
  if (value !== null && !isJsonObject(value)) throw new Error(noObjectText(value))
  const given = typeMetaOf(value ?? {}, (message) => new Error(message))
  if (given.apiVersion && parseGroupVersion(given.apiVersion) === undefined)
    throw new Error(`unexpected GroupVersion string: ${given.apiVersion}`)
  const kind = given.kind || defaults.kind
  const apiVersion = given.apiVersion || defaults.apiVersion
  if (!kind) throw new UnknownTypeError(`Object 'Kind' is missing in '${text}'`)
  if (!apiVersion) throw new UnknownTypeError(`Object 'apiVersion' is missing in '${text}'`)
  const type = types[`${apiVersion} ${kind}`]
  if (type === undefined) throw new UnknownTypeError(noKindText(kind, apiVersion))
  return type
}

/**
 * `types`: names of structs of openapi/data/configuration-fields.json, by what a text says that it is; `T` is what they have
 * in common. Throws an Error.
 */
export const decodeConfiguration = <T = JsonObject>(
  text: string,
  types: KnownTypes,
  { strict = true, defaults = {} }: { strict?: boolean; defaults?: TypeDefaults } = {},
): { type: string; value: T } => {
  const { value, trace, duplicates } = parsedBody(text)
  const type = typeOf(value, text, types, defaults)
  const decoded = decodeType(type, value, trace)
  if (strict && duplicates.length + decoded.strictErrors.length > 0)
    throw new Error(strictText(duplicates, decoded.strictErrors))
  return { type, value: decoded.value as T }
}

const parsedBody = (text: string): ParsedText => {
  try {
    return parseText(text)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new Error(`couldn't get version/kind; json parse error: ${error.message}`)
  }
}

/** encoding/json knows a field by its name in any case. */
const withNamesOf = (type: GoType, value: JsonValue): JsonValue => {
  if (type.form === 'slice' && Array.isArray(value))
    return value.map((item) => withNamesOf(type.item, item))
  if (type.form !== 'struct' || !isJsonObject(value)) return value
  const fields = goFieldsOf(type.key)
  const named: JsonObject = {}
  for (const [key, given] of Object.entries(value)) {
    const field = fields.find(({ name }) => name.toLowerCase() === key.toLowerCase())
    if (field !== undefined) setOwn(named, field.name, withNamesOf(field.type, given))
  }
  return named
}

/** A struct as encoding/json decodes it: unknown fields are ignored. Throws an Error. */
export const unmarshal = (value: JsonValue, type: string): JsonObject =>
  decodeType(type, withNamesOf(goTypeOfKey(type), value)).value

/** The same of a file's text, which has no version. */
export const decodeUnversioned = (text: string, type: string): JsonObject =>
  unmarshal(parseText(text).value, type)
