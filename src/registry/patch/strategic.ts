/**
 * Strategic merge patch: a merge patch that knows the type, so that lists can merge by a key, and directives in the patch
 * (`$patch`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`) can replace, delete and order.
 * Pure, over plain JSON values. Source of the rules: apimachinery, pkg/util/strategicpatch; handlers/patch.go for codes.
 *
 * Upstream works on decoded Go maps in place, and its messages show the patch as it is after the merge; so the merge
 * here works in place as well, on copies of what it goes through; the rest of the document is shared with the result.
 */

import { goKindOf } from '#api/decoder-texts.js'
import { badRequest } from '#api/errors.js'
import { copyWith } from '#json/copy-with.js'
import { cloneJson, getOwn, isJsonObject, lengthOf, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { type GoType, goTypeOfKey } from '../decode/go-type.js'
import { goPrint, goTypeOf } from '../go-print.js'
import { checkConvertible } from './convertible.js'
import {
  deleteFromListPrefix,
  patchDirective,
  removeDirectives,
  retainKeysDirective,
  setElementOrderPrefix,
} from './directives.js'
import { mergeSlice, orderBySetElementOrder } from './merge-list.js'
import { MergeWork } from './merge-work.js'
import { type ListField, lookUp, lookUpList } from './patch-field.js'
import { badPatchType, wrongType } from './strategic-errors.js'

/**
 * Yields the patched document, still to be decoded and defaulted. `schemaName` is the type of the document.
 * Throws 400 and 500 for patches that make no sense, 413 for what is too much work, 422 for values that the type cannot hold.
 */
export const applyStrategicMergePatch = (
  document: JsonObject,
  patch: JsonValue,
  schemaName: string,
): JsonObject => {
  if (patch === null) return document
  const { merged, left } = merge(document, patch, schemaName)
  checkConvertible(changed(merged, document), schemaName, () => goPrint(left))
  return merged
}

/** What is left of a patch that was applied, which is what upstream's messages show: nulls in what is new are gone. */
export const leftOfStrategicMergePatch = (
  document: JsonObject,
  patch: JsonValue,
  schemaName: string,
): JsonValue => (patch === null ? null : merge(document, patch, schemaName).left)

const merge = (
  document: JsonObject,
  patch: JsonValue,
  schemaName: string,
): { merged: JsonObject; left: JsonObject } => {
  if (!isJsonObject(patch)) {
    throw badRequest(
      `json: cannot unmarshal ${goKindOf(patch)} into Go value of type map[string]interface {}`,
    )
  }
  const left = cloneJson(patch)
  const type = goTypeOfKey(goTypeName(schemaName))
  return { left, merged: mergeMap(copyWith(document), left, type, new MergeWork()) }
}

const changed = (merged: JsonObject, document: JsonObject): JsonObject => {
  const parts: JsonObject = {}
  for (const key of Object.keys(merged))
    if (merged[key] !== document[key]) setOwn(parts, key, merged[key]!)
  return parts
}

/** Changes and yields `original`, but nothing under it; uses up `patch`. */
export const mergeMap = (
  original: JsonObject,
  patch: JsonObject,
  type: GoType,
  work: MergeWork,
): JsonObject => {
  work.look(lengthOf(original))
  if (Object.hasOwn(patch, patchDirective)) return followPatchDirective(patch)
  retainKeys(original, patch)
  for (const key of Object.keys(patch)) {
    if (key.startsWith(setElementOrderPrefix)) mergeOrderedList(original, patch, key, type, work)
  }
  for (const key of Object.keys(patch)) mergeField(original, patch, key, type, work)
  return original
}

const followPatchDirective = (patch: JsonObject): JsonObject => {
  const directive = patch[patchDirective]
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw badPatchType(directive, patch)
  delete patch[patchDirective]
  return patch
}

const retainKeys = (original: JsonObject, patch: JsonObject): void => {
  if (!Object.hasOwn(patch, retainKeysDirective)) return
  const list = patch[retainKeysDirective]
  delete patch[retainKeysDirective]
  if (!Array.isArray(list)) throw badRequest('invalid patch format of retainKeys')
  const retained = new Set(list)
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) continue
    if (key.startsWith(deleteFromListPrefix) || key.startsWith(setElementOrderPrefix)) continue
    if (!retained.has(key)) throw badRequest('invalid patch format of retainKeys')
  }
  for (const key of Object.keys(original)) if (!retained.has(key)) delete original[key]
}

/** `$setElementOrder/containers` → `containers`. */
const listKeyOf = (key: string, prefix: string, message: string): string => {
  const slash = key.indexOf('/')
  if (slash < 0 || key.slice(0, slash) !== prefix) throw badRequest(message)
  return key.slice(slash + 1)
}

const listOrUndefined = (object: JsonObject, key: string): JsonValue[] | undefined => {
  if (!Object.hasOwn(object, key)) return undefined
  const value = object[key]
  if (!Array.isArray(value)) throw wrongType([], value)
  return value
}

const mergeOrderedList = (
  original: JsonObject,
  patch: JsonObject,
  directive: string,
  type: GoType,
  work: MergeWork,
): void => {
  const order = patch[directive]
  delete patch[directive]
  if (!Array.isArray(order)) throw wrongType([], order)
  const key = listKeyOf(
    directive,
    setElementOrderPrefix,
    'invalid patch format of setElementOrder list',
  )
  const current = listOrUndefined(original, key)
  const patched = listOrUndefined(patch, key)
  const field = lookUpList(type, key)
  const ordered = orderBySetElementOrder({ current, patched, order, field, work })
  if (ordered === undefined) return
  setOwn(original, key, ordered)
  delete patch[key]
}

const mergeField = (
  original: JsonObject,
  patch: JsonObject,
  patchKey: string,
  type: GoType,
  work: MergeWork,
): void => {
  const isDeleteList = patchKey.startsWith(deleteFromListPrefix)
  const key = isDeleteList
    ? listKeyOf(patchKey, deleteFromListPrefix, 'invalid patch format of primitive list')
    : patchKey
  const value = patch[patchKey]!
  if (value === null) {
    delete original[key]
    return
  }
  const current = getOwn(original, key)
  if (goTypeOf(current) !== goTypeOf(value)) {
    if (!isDeleteList) putNew(original, key, value)
    return
  }
  if (Array.isArray(value)) {
    const field = lookUpList(type, key)
    const merged = mergeList(current as JsonValue[], value, field, isDeleteList, work)
    setOwn(original, key, merged)
  } else if (isJsonObject(value)) {
    const field = lookUp(type, key)
    const merged =
      field.strategy === 'replace'
        ? value
        : mergeMap(copyWith(current as JsonObject), value, field.type, work)
    setOwn(original, key, merged)
  } else setOwn(original, key, value)
}

export const mergeList = (
  original: JsonValue[],
  patch: JsonValue[],
  field: ListField,
  isDeleteList: boolean,
  work: MergeWork,
): JsonValue[] =>
  field.strategy === 'merge' || isDeleteList
    ? mergeSlice(original, patch, field, isDeleteList, work)
    : patch

/** Puts a value where there is none: nulls have nothing to remove and directives nothing to act on. */
const putNew = (target: JsonObject, key: string, value: JsonValue): void => {
  discardNulls(value)
  const kept = removeDirectives(value)
  if (kept === undefined) delete target[key]
  else setOwn(target, key, kept)
}

const discardNulls = (value: JsonValue): void => {
  if (Array.isArray(value)) for (const entry of value) discardNulls(entry)
  else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (value[key] === null) delete value[key]
      else discardNulls(value[key]!)
    }
  }
}
