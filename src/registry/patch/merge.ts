/**
 * JSON merge patch (RFC 7386) as kube-apiserver applies it: pure, over plain JSON values.
 * Neither argument is changed; what the patch does not touch is shared with the document.
 */

import { badRequest } from '#api/errors.js'
import { copyWith } from '#json/copy-with.js'
import { isJsonObject, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'

/** What a patch that is no object makes of any document: a list takes its place. Throws 400 for anything else. */
export const replaceByMergePatch = (patch: JsonValue): JsonValue => {
  if (!Array.isArray(patch)) throw badRequest('Invalid JSON Patch')
  return withoutNulls(patch)
}

export const applyMergePatch = (target: JsonObject, patch: JsonObject): JsonObject => {
  const merged = copyWith(target)
  for (const key of Object.keys(patch)) {
    const value = patch[key]!
    if (value === null) delete merged[key]
    else setOwn(merged, key, mergeValue(Object.hasOwn(target, key) ? target[key] : null, value))
  }
  return merged
}

const mergeValue = (current: JsonValue | undefined, patch: JsonValue): JsonValue => {
  if (!isJsonObject(current)) return withoutNulls(patch)
  return isJsonObject(patch) ? applyMergePatch(current, patch) : patch
}

/** Null removes, so nulls in what is new have nothing to remove; those that are list entries are values and stay. */
const withoutNulls = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  const kept: JsonObject = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key]!))
  }
  return kept
}
