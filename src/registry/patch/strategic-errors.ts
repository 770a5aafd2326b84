/** What upstream says of a strategic merge patch that cannot be followed. */
import { failure } from '#api/errors.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goPrint, goPrintAsText, goTypeOf } from '../go-print.js'

/** A patch whose directives cannot be followed: upstream has no reason for it, only a text. */
export const cannotMerge = (message: string) => failure({ code: 500, message })

export const noMergeKey = (entry: JsonObject, mergeKey: string) =>
  cannotMerge(`map: ${goPrint(entry)} does not contain declared merge key: ${mergeKey}`)

export const badPatchType = (directive: JsonValue | undefined, patch: JsonObject) =>
  cannotMerge(`unknown patch type: ${goPrintAsText(directive)} in map: ${goPrint(patch)}`)

export const wrongType = (expected: JsonValue, actual: JsonValue | undefined) =>
  cannotMerge(`expected a ${goTypeOf(expected)}, but received a ${goTypeOf(actual)}`)
