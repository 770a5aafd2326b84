/** The body of a PATCH: a JSON value, and what its text has of strict errors. */
import { badRequest } from '#api/errors.js'
import { JsonSyntaxError, type JsonTrace, parseWithTrace } from '#api/json.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { textOf } from '#api/utf8.js'
import { parseYaml, YamlSyntaxError } from '#registry/yaml.js'

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface Patch {
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
  const found: string[] = []
  // In the order of the text: what a key that comes twice held the first time is read as well.
  for (const [key, item] of keys.get(value) ?? Object.entries(value)) {
    if (seen.has(key)) found.push(`duplicate field "${at(key)}"`)
    seen.add(key)
    found.push(...duplicatesOf(item, keys, at(key)))
  }
  return [...new Set(found)]
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

/** YAML that is JSON without anything peculiar, which is what most clients send; the YAML parser is many times slower. */
const plainJsonOf = (text: string): JsonValue | undefined => {
  // What no UTF-8 was, or names half a character, is no YAML.
  if (!text.startsWith('{') || text.includes('\ufffd') || text.includes('\\u')) return undefined
  try {
    const { value, trace } = parseWithTrace(text)
    return trace === undefined ? value : undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

/** A number beyond a float64 is none for Go. */
const refuseInfinite = (value: JsonValue, trace: JsonTrace | undefined): void => {
  if (typeof value !== 'object' || value === null || trace === undefined) return
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'number' && !Number.isFinite(item)) {
      const at = Array.isArray(value) ? Number(key) : key
      const literal = trace.literals.get(value)?.get(at) ?? item
      throw badRequest(
        `error decoding patch: json: cannot unmarshal number ${literal} into Go value of type float64`,
      )
    }
    refuseInfinite(item, trace)
  }
}

/** Throws 400. */
export const parsePatch = (type: PatchType, body: Buffer): Patch => {
  const text = textOf(body)
  if (type === 'apply') {
    const json = plainJsonOf(text)
    if (json !== undefined) return { type, value: json, textErrors: [] }
    try {
      const { value, duplicates } = parseYaml(body)
      return { type, value, textErrors: duplicates }
    } catch (error) {
      if (error instanceof YamlSyntaxError)
        throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
      throw error
    }
  }
  try {
    const { value, trace } = parseWithTrace(text)
    refuseInfinite(value, trace)
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
