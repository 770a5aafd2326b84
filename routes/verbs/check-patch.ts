/**
 * Faults for which a patch is refused before it is applied. Upstream decodes a patch into types of its own to find strict
 * errors; with fieldValidation=Ignore it does so for strategic patches only.
 */
import { goKindOf } from '#api/decoder-texts.js'
import { badRequest } from '#api/errors.js'
import { getOwn, isJsonObject } from '#json/object.js'
import type { JsonTrace, ParsedJson } from '#json/traced.js'
import type { JsonValue } from '#json/value.js'

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export const undecodable = (type: PatchType, problem: string): Error =>
  badRequest(type === 'strategic' ? problem : `error decoding patch: ${problem}`)

/** The first number that does not fit a float64, as it is written. */
const infiniteIn = (value: JsonValue, literals: JsonTrace['literals']): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'number' && !Number.isFinite(item))
      return literals.get(value)?.get(Array.isArray(value) ? Number(key) : key) ?? String(item)
    const found = infiniteIn(item, literals)
    if (found !== undefined) return found
  }
  return undefined
}

const infiniteNumber = (type: PatchType, { value, trace }: ParsedJson): string | undefined => {
  const literal = trace && infiniteIn(value, trace.literals)
  if (literal === undefined) return undefined
  const where = type === 'json' ? 'struct field jsonPatchOp.value' : 'value'
  return `number ${literal} into Go ${where} of type float64`
}

const wrongOperation = (operation: JsonValue): string | undefined => {
  if (operation === null) return undefined
  if (!isJsonObject(operation))
    return `${goKindOf(operation)} into Go value of type handlers.jsonPatchOp`
  for (const field of ['op', 'path', 'from']) {
    const value = getOwn(operation, field)
    if (value !== undefined && value !== null && typeof value !== 'string')
      return `${goKindOf(value)} into Go struct field jsonPatchOp.${field} of type string`
  }
  return undefined
}

const wrongShape = (type: PatchType, patch: JsonValue): string | undefined => {
  if (patch === null) return undefined
  if (type === 'merge' && !isJsonObject(patch))
    return `${goKindOf(patch)} into Go value of type map[string]interface {}`
  if (type !== 'json') return undefined
  if (!Array.isArray(patch))
    return `${goKindOf(patch)} into Go value of type []handlers.jsonPatchOp`
  for (const operation of patch) {
    const wrong = wrongOperation(operation)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/** Throws 400. */
export const checkPatch = (type: PatchType, parsed: ParsedJson): void => {
  const problem = infiniteNumber(type, parsed) ?? wrongShape(type, parsed.value)
  if (problem !== undefined) throw undecodable(type, `json: cannot unmarshal ${problem}`)
}
