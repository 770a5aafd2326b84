/**
 * Faults for which a patch is refused before it is applied. Upstream decodes a patch into types of its own to find strict
 * errors; with fieldValidation=Ignore it does so for strategic patches only.
 */
import { goKindOf } from '#api/decoder-texts.js'
import { badRequest } from '#api/errors.js'
import { isJsonObject } from '#json/object.js'
import type { JsonTrace, ParsedJson, WrittenEntry } from '#json/traced.js'
import type { JsonValue } from '#json/value.js'

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export const undecodable = (type: PatchType, problem: string): Error =>
  badRequest(type === 'strategic' ? problem : `error decoding patch: ${problem}`)

/** The entries as they were written: Go reads those, too, that a later one of the same name replaces. */
const entriesOf = (value: object, { entries, literals }: JsonTrace): WrittenEntry[] => {
  const own = literals.get(value)
  return (
    entries.get(value) ??
    Object.entries(value).map(([key, item]) => [
      key,
      item,
      own?.get(Array.isArray(value) ? Number(key) : key),
    ])
  )
}

/** The first number that does not fit a float64, as it is written. */
const infiniteIn = (value: JsonValue, trace: JsonTrace, literal?: string): string | undefined => {
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : (literal ?? String(value))
  if (typeof value !== 'object' || value === null) return undefined
  for (const [, item, written] of entriesOf(value, trace)) {
    const found = infiniteIn(item, trace, written)
    if (found !== undefined) return found
  }
  return undefined
}

const infiniteNumber = (
  value: JsonValue,
  trace: JsonTrace | undefined,
  where = 'value',
  literal?: string,
): string | undefined => {
  const found = trace && infiniteIn(value, trace, literal)
  return found && `number ${found} into Go ${where} of type float64`
}

const textFields = new Set(['op', 'path', 'from'])
const noTrace: JsonTrace = { entries: new Map(), literals: new Map() }

/** What is wrong first, in the order of the text; fields that nobody knows are passed over. */
const wrongOperation = (operation: JsonValue, trace: JsonTrace | undefined): string | undefined => {
  if (operation === null) return undefined
  if (!isJsonObject(operation))
    return `${goKindOf(operation)} into Go value of type handlers.jsonPatchOp`
  for (const [field, value, literal] of entriesOf(operation, trace ?? noTrace)) {
    if (textFields.has(field) && value !== null && typeof value !== 'string')
      return `${goKindOf(value)} into Go struct field jsonPatchOp.${field} of type string`
    const infinite =
      field === 'value' && infiniteNumber(value, trace, 'struct field jsonPatchOp.value', literal)
    if (infinite) return infinite
  }
  return undefined
}

const wrongShape = (type: PatchType, { value: patch, trace }: ParsedJson): string | undefined => {
  if (patch === null) return undefined
  if (type === 'merge' && !isJsonObject(patch))
    return `${goKindOf(patch)} into Go value of type map[string]interface {}`
  if (type !== 'json') return infiniteNumber(patch, trace)
  if (!Array.isArray(patch))
    return `${goKindOf(patch)} into Go value of type []handlers.jsonPatchOp`
  for (const operation of patch) {
    const wrong = wrongOperation(operation, trace)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** Throws 400. */
export const checkPatch = (type: PatchType, parsed: ParsedJson): void => {
  const problem = wrongShape(type, parsed)
  if (problem !== undefined) throw undecodable(type, `json: cannot unmarshal ${problem}`)
}
