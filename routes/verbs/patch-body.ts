/** The body of a PATCH: a JSON value and the strict errors of its text. */
import type { FastifyRequest } from 'fastify'
import { badRequest } from '#api/errors.js'
import { dotted } from '#api/field-error.js'
import { parseAsWritten, parseFloatsAsWritten, readWritten } from '#json/as-written.js'
import { goNumber } from '#json/int64.js'
import { JsonSyntaxError, parseWithTrace } from '#json/json.js'
import { isJsonObject, setOwn } from '#json/object.js'
import type { JsonTrace, ParsedJson } from '#json/traced.js'
import { textOf } from '#json/utf8.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { StrictErrors } from '#registry/decode/strict-errors.js'
import { YamlSyntaxError } from '#registry/yaml/messages.js'
import type { FieldValidation } from '../decode-body.js'
import { bodyOf, yamlOf } from '../request-body.js'
import { checkPatch, type PatchType, undecodable } from './check-patch.js'

export interface Patch {
  readonly type: PatchType
  /**
   * If `hasWritten`, numbers and texts are kept as they are written (src/json/as-written.ts), because that can change the
   * outcome.
   */
  readonly value: JsonValue
  readonly hasWritten: boolean
  /** The value with numbers and texts as they are written, for messages. */
  readonly asWritten: () => JsonValue
  /** Strict errors of the patch's own text: `duplicate field "data.k"`, `unknown field "from2"`. */
  readonly textErrors: readonly string[]
}

type Entries = JsonTrace['entries']

const findDuplicates = (
  value: JsonValue,
  keys: Entries,
  path: string,
  errors: StrictErrors,
): void => {
  if (keys.size === 0 || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) findDuplicates(item, keys, `${path}[${i}]`, errors)
    return
  }
  const seen = new Set<string>()
  // In the order of the text; both values of a duplicate key are read.
  for (const [key, item] of keys.get(value) ?? Object.entries(value)) {
    const at = dotted(path, key)
    if (seen.has(key)) errors.add('duplicate', at)
    seen.add(key)
    findDuplicates(item, keys, at, errors)
  }
}

const operationFields = new Set(['op', 'path', 'from', 'value'])

/** In the order of the text. An unknown field is reported once and is no duplicate. */
const findOperationErrors = (
  operation: JsonObject,
  keys: Entries,
  path: string,
  errors: StrictErrors,
): void => {
  const seen = new Set<string>()
  for (const [key, item] of keys.get(operation) ?? Object.entries(operation)) {
    const at = `${path}.${key}`
    if (!operationFields.has(key)) errors.add('unknown', at)
    else if (seen.has(key)) errors.add('duplicate', at)
    seen.add(key)
    findDuplicates(item, keys, at, errors)
  }
}

const textErrorsOf = (type: PatchType, value: JsonValue, keys: Entries): string[] => {
  const errors = new StrictErrors()
  if (type !== 'json' || !Array.isArray(value)) findDuplicates(value, keys, '', errors)
  else
    for (const [i, operation] of value.entries())
      if (isJsonObject(operation)) findOperationErrors(operation, keys, `[${i}]`, errors)
  return type === 'json' ? errors.all().map((error) => `json patch ${error}`) : errors.all()
}

/** Values keep what their text tells; `op`, `path` and `from` are read as plain strings. */
const operationsOf = (patch: JsonValue): JsonValue =>
  Array.isArray(patch)
    ? patch.map((operation) => {
        if (!isJsonObject(operation)) return operation
        const { value, ...rest } = operation
        const read = readWritten(rest).value as JsonObject
        return value === undefined ? read : { ...read, value }
      })
    : patch

/** A JSON patch with `test` compares texts byte by byte: -0 is not 0. */
const comparesTexts = (value: JsonValue, text: string): boolean =>
  /[\\<>&\u2028\u2029]|-0(?![.\deE])/.test(text) &&
  Array.isArray(value) &&
  value.some((operation) => isJsonObject(operation) && operation.op === 'test')

/** The error for a text that is not JSON. */
const unreadable = (type: PatchType, problem: string): Error =>
  badRequest(type === 'merge' ? 'Invalid JSON Patch' : problem)

type Forms = Pick<Patch, 'value' | 'hasWritten' | 'asWritten'>

const plain = (value: JsonValue): Forms => ({ value, hasWritten: false, asWritten: () => value })

/** An integer beyond an int64 becomes a float where no type is known. */
const inGoMaps = (value: JsonValue): JsonValue => {
  if (typeof value === 'bigint') return goNumber(value)
  if (Array.isArray(value)) return value.map(inGoMaps)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) setOwn(copy, key, inGoMaps(value[key]!))
  return copy
}

const formsOf = (type: PatchType, text: string, { value, trace }: ParsedJson): Forms => {
  const hasLiterals = trace !== undefined && trace.literals.size > 0
  if (type === 'strategic') {
    const kept = hasLiterals ? parseFloatsAsWritten(text) : value
    return { value: kept, hasWritten: hasLiterals, asWritten: () => kept }
  }
  const asWritten = () =>
    type === 'json' ? operationsOf(parseAsWritten(text)) : parseAsWritten(text)
  const counts = hasLiterals || (type === 'json' && comparesTexts(value, text))
  return { value: counts ? asWritten() : value, hasWritten: counts, asWritten }
}

/** Throws 400. Strict errors are looked for unless `fieldValidation` is Ignore: then the patch is not decoded by itself. */
export const parsePatch = (
  type: PatchType,
  request: FastifyRequest,
  fieldValidation: FieldValidation,
): Patch => {
  if (type === 'apply') {
    try {
      const { value, duplicates } = yamlOf(request)
      return { type, ...plain(inGoMaps(value)), textErrors: duplicates }
    } catch (error) {
      if (error instanceof YamlSyntaxError)
        throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
      throw error
    }
  }
  const body = bodyOf(request)
  const text = textOf(body)
  const isDecoded = type === 'strategic' || fieldValidation !== 'Ignore'
  try {
    const parsed = parseWithTrace(text, body)
    const { value, trace } = parsed
    if (isDecoded) checkPatch(type, parsed)
    const keys = trace?.entries ?? new Map()
    return {
      type,
      ...formsOf(type, text, parsed),
      textErrors: textErrorsOf(type, value, keys),
    }
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw isDecoded ? undecodable(type, error.message) : unreadable(type, error.message)
    throw error
  }
}
