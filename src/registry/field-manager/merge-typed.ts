/**
 * Merging what is applied into what there is, and taking fields out again.
 * Source of the rules: structured-merge-diff, typed/merge.go and typed/remove.go.
 */
import { copyWith } from '#json/copy-with.js'
import { getOwn, isJsonObject, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { indexEntries } from './compare.js'
import { type FieldSet, hasPath, isEmptySet, withPrefix } from './field-set.js'
import type { FieldType, ListType, MapType } from './field-type.js'
import { elementOf, elementOrLost, formOf, isEmptyOrNot } from './list-item.js'
import { fieldElement } from './path-element.js'

/** `patch` wins leaf by leaf; what it does not name stays. Neither argument is changed; what stays is shared with `live`. */
export const mergeObjects = (live: JsonObject, patch: JsonObject, type: FieldType): JsonObject =>
  mergeFields(type.map!, live, patch)

const mergeValues = (
  type: FieldType,
  live: JsonValue | undefined,
  patch: JsonValue | undefined,
): JsonValue | undefined => {
  if (patch === undefined) return live
  if (live === undefined || live === patch) return patch
  const form = formOf(type, patch)
  if (form === 'scalar' || type[form]!.atomic) return patch
  if (isEmptyOrNot(live, form) && isEmptyOrNot(patch, form)) return patch
  // Null over something that merges says nothing: what there is stays.
  if (form === 'map') {
    return mergeFields(type.map!, isJsonObject(live) ? live : {}, isJsonObject(patch) ? patch : {})
  }
  return mergeEntries(
    type.list!,
    Array.isArray(live) ? live : [],
    Array.isArray(patch) ? patch : [],
  )
}

const mergeFields = (map: MapType, live: JsonObject, patch: JsonObject): JsonObject => {
  let merged: JsonObject | undefined
  for (const key in patch) {
    const type = map.field(key)?.type ?? map.element
    if (type === undefined) continue
    const before = getOwn(live, key)
    const value = mergeValues(type, before, patch[key])
    if (value === undefined || value === before) continue
    merged ??= copyWith(live)
    setOwn(merged, key, value)
  }
  return merged ?? live
}

/** Whether both lists have the same entries in the same order, each of them once. */
const areSame = (live: readonly string[], patch: readonly string[]): boolean =>
  live.length === patch.length &&
  live.every((element, i) => element === patch[i]) &&
  new Set(live).size === live.length

const mergePairs = (list: ListType, live: JsonValue[], patch: JsonValue[]): JsonValue[] => {
  const merged = live.map((item, i) => mergeValues(list.element, item, patch[i]) ?? null)
  return merged.every((item, i) => item === live[i]) ? live : merged
}

/**
 * The order: entries of the patch keep the patch's order, entries that it does not name stay where they are among their
 * neighbours, and what both have is the anchor between the two.
 */
const mergeEntries = (list: ListType, live: JsonValue[], patch: JsonValue[]): JsonValue[] => {
  const liveElements = live.map((item) => elementOf(list, item))
  const patchElements = patch.map((item) => elementOf(list, item))
  if (areSame(liveElements, patchElements)) return mergePairs(list, live, patch)
  const liveIndex = indexEntries(liveElements, live)
  const patchIndex = indexEntries(patchElements, patch)
  const shared = patchElements.filter((element) => liveIndex.has(element))
  const merged: JsonValue[] = []
  const done = new Set<string>()
  let nextShared = 0
  let l = 0
  let p = 0
  const takePatch = (): void => {
    const element = patchElements[p]!
    const same = liveIndex.get(element)
    // Entries that come more than once in the stored list cannot be told apart: the patch replaces them.
    const current = same === undefined ? undefined : same.length > 1 ? null : same[0]
    done.add(element)
    merged.push(mergeValues(list.element, current, patch[p]) ?? null)
    if (shared[nextShared] === element) nextShared++
    p++
  }
  while (l < live.length || p < patch.length) {
    const element = liveElements[l]
    if (element !== undefined && p < patch.length) {
      if (element === patchElements[p]) {
        takePatch()
        l++
        continue
      }
      const anchor = shared[nextShared]
      if (patchIndex.has(element) && anchor !== undefined && anchor !== element) {
        l++ // Comes later, where the patch has it.
        continue
      }
    }
    if (element !== undefined) {
      if (!patchIndex.has(element)) {
        merged.push(live[l]!)
        l++
        continue
      }
      if (done.has(element)) l++
    }
    if (p < patch.length) takePatch()
  }
  return merged
}

/** Takes the members of `set` out. What is emptied by it becomes null. */
export const removeFields = (value: JsonObject, set: FieldSet, type: FieldType): JsonObject =>
  (removeFrom(type, value, set) as JsonObject | null) ?? {}

const removeFrom = (type: FieldType, value: JsonValue, set: FieldSet): JsonValue => {
  const form = formOf(type, value)
  if (form === 'scalar') return value
  if (isEmptyOrNot(value, form) || type[form]!.atomic) return null
  return form === 'map'
    ? removeFromMap(type.map!, value as JsonObject, set)
    : removeFromList(type.list!, value as JsonValue[], set)
}

const removeFromMap = (map: MapType, value: JsonObject, set: FieldSet): JsonValue => {
  const kept: JsonObject = {}
  for (const key of Object.keys(value)) {
    const element = fieldElement(key)
    if (hasPath(set, [element])) continue
    const under = withPrefix(set, element)
    const type = map.field(key)?.type ?? map.element
    setOwn(
      kept,
      key,
      isEmptySet(under) || type === undefined ? value[key]! : removeFrom(type, value[key]!, under),
    )
  }
  return Object.keys(kept).length > 0 ? kept : null
}

const removeFromList = (list: ListType, value: JsonValue[], set: FieldSet): JsonValue => {
  const kept: JsonValue[] = []
  for (const item of value) {
    const element = elementOrLost(list, item)
    if (hasPath(set, [element])) continue
    const under = withPrefix(set, element)
    kept.push(isEmptySet(under) ? item : removeFrom(list.element, item, under))
  }
  return kept.length > 0 ? kept : null
}
