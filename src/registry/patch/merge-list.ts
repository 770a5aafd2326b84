/**
 * Lists of a strategic merge patch: merging by key or as sets, then the order. Entries that the patch names come in the
 * order of the patch, the others keep theirs, and an entry that is new goes in front of those that the patch leaves out.
 */

import { rejected } from '#api/errors.js'
import { copyWith } from '#json/copy-with.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goPrint, goTypeOf } from '../go-print.js'
import { patchDirective, removeDirectives } from './directives.js'
import type { MergeWork } from './merge-work.js'
import { kindNameOf, type ListField } from './patch-field.js'
import { mergeList, mergeMap } from './strategic.js'
import { badPatchType, cannotMerge, noMergeKey, wrongType } from './strategic-errors.js'

export const mergeSlice = (
  original: JsonValue[],
  patch: JsonValue[],
  field: ListField,
  isDeleteList: boolean,
  work: MergeWork,
): JsonValue[] => {
  work.look(original.length)
  if (original.length === 0 && patch.length === 0) return original
  if (!holdObjects(original, patch)) {
    const given = new Set(patch)
    if (isDeleteList) return original.filter((entry) => !given.has(entry))
    const merged = [...new Set([...original, ...patch])]
    const [named, others] = partition(merged, (entry) => given.has(entry))
    return inOrder(named, others, patch, original, (entry) => entry)
  }
  const { mergeKey } = field
  if (mergeKey === '') {
    throw cannotMerge(`cannot merge lists without merge key for ${kindNameOf(field.item)}`)
  }
  const { kept, entries } = followListDirectives(original as JsonObject[], patch, mergeKey)
  const before = [...kept]
  const merged = mergeEntries(kept, entries, field, work)
  const keys = new Set(entries.map((entry) => entry[mergeKey]))
  const [named, others] = partition(merged, (entry) => keys.has(keyOf(entry, mergeKey)))
  return inOrder(named, others, entries, before, (entry) => (entry as JsonObject)[mergeKey])
}

/** True for lists of objects; mixed lists, lists of lists and such without any entry are refused. */
const holdObjects = (...lists: JsonValue[][]): boolean => {
  let type: string | undefined
  for (const entry of lists.flat()) {
    // Only the first entry decides what the lists hold.
    if (type === undefined && Array.isArray(entry)) throw rejected()
    type ??= goTypeOf(entry)
    if (goTypeOf(entry) !== type) {
      throw cannotMerge(`list element types are not identical: ${goPrint(lists)}`)
    }
  }
  if (type === undefined) throw cannotMerge('no elements in any of the given slices')
  return type === 'map[string]interface {}'
}

const keyOf = (entry: JsonValue, mergeKey: string): JsonValue => {
  if (!isJsonObject(entry)) throw wrongType({}, entry)
  const key = entry[mergeKey]
  if (key === undefined) throw noMergeKey(entry, mergeKey)
  return key
}

const followListDirectives = (
  original: JsonObject[],
  patch: JsonValue[],
  mergeKey: string,
): { kept: JsonObject[]; entries: JsonObject[] } => {
  const entries: JsonObject[] = []
  const deleted = new Set<JsonValue>()
  let replace = false
  for (const entry of patch as JsonObject[]) {
    const directive = entry[patchDirective]
    if (directive === undefined) entries.push(entry)
    else if (directive === 'delete') deleted.add(keyOf(entry, mergeKey))
    else if (directive === 'replace') replace = true
    else if (directive === 'merge') {
      throw cannotMerge('merging lists cannot yet be specified in the patch')
    } else throw badPatchType(directive, entry)
  }
  if (replace) return { kept: entries, entries: [] }
  return { kept: original.filter((entry) => !deleted.has(entry[mergeKey]!)), entries }
}

const mergeEntries = (
  original: JsonObject[],
  entries: JsonObject[],
  field: ListField,
  work: MergeWork,
): JsonObject[] => {
  const positions = new Map<JsonValue, number>()
  const merged = [...original]
  for (const [i, entry] of merged.entries()) {
    const key = entry[field.mergeKey]
    if (key !== undefined && !positions.has(key)) positions.set(key, i)
  }
  for (const entry of entries) {
    const key = keyOf(entry, field.mergeKey)
    const at = positions.get(key)
    if (at !== undefined) {
      // Entries of the patch are merged in place, as all of it is.
      const into = at < original.length ? copyWith(merged[at]!) : merged[at]!
      merged[at] = mergeMap(into, entry, field.item, work)
    } else {
      positions.set(key, merged.length)
      merged.push(entry)
    }
  }
  return merged
}

const partition = (
  list: JsonValue[],
  isNamed: (entry: JsonValue) => boolean,
): [JsonValue[], JsonValue[]] => {
  const named: JsonValue[] = []
  const others: JsonValue[] = []
  for (const entry of list) (isNamed(entry) ? named : others).push(entry)
  return [named, others]
}

type Identify = (entry: JsonValue) => JsonValue | undefined

const positionsOf = (order: JsonValue[], identify: Identify): Map<JsonValue, number> => {
  const positions = new Map<JsonValue, number>()
  for (const [i, entry] of order.entries()) {
    const id = identify(entry) ?? null
    if (!positions.has(id)) positions.set(id, i)
  }
  return positions
}

/** Sorts what the patch named by the patch and the others by the server, then merges both by the server's order. */
const inOrder = (
  named: JsonValue[],
  others: JsonValue[],
  patchOrder: JsonValue[],
  serverOrder: JsonValue[],
  identify: Identify,
): JsonValue[] => {
  const inPatch = positionsOf(patchOrder, identify)
  const onServer = positionsOf(serverOrder, identify)
  const at = (positions: Map<JsonValue, number>, entry: JsonValue) =>
    positions.get(identify(entry) ?? null) ?? -1
  const left = [...others].sort((a, b) => at(onServer, a) - at(onServer, b))
  const right = [...named].sort((a, b) => at(inPatch, a) - at(inPatch, b))
  const merged: JsonValue[] = []
  let i = 0
  let j = 0
  while (i < left.length && j < right.length) {
    const l = at(onServer, left[i]!)
    const r = at(onServer, right[j]!)
    if (l >= 0 && r >= 0 && l < r) merged.push(left[i++]!)
    else merged.push(right[j++]!)
  }
  return [...merged, ...left.slice(i), ...right.slice(j)]
}

interface OrderedList {
  current: JsonValue[] | undefined
  patched: JsonValue[] | undefined
  order: JsonValue[]
  field: ListField
  work: MergeWork
}

/** Undefined when there is no list to order. */
export const orderBySetElementOrder = ({
  current,
  patched,
  order,
  field,
  work,
}: OrderedList): JsonValue[] | undefined => {
  const { mergeKey } = field
  work.look(current?.length ?? 0)
  if (patched !== undefined) checkAgainstOrder(patched, order, mergeKey)
  if (current === undefined && patched === undefined) return undefined
  const merged =
    patched === undefined
      ? current!
      : current === undefined
        ? (removeDirectives(patched) as JsonValue[])
        : mergeList(current, patched, field, false, work)
  const isKeyed = mergeKey !== ''
  const identify: Identify = (entry) =>
    isKeyed && isJsonObject(entry) ? entry[mergeKey] : isKeyed ? undefined : entry
  const positions = positionsOf(order, identify)
  const odd = isKeyed ? order.findIndex((entry) => !isJsonObject(entry)) : -1
  const [named, others] = partition(merged, (entry) => {
    const at = positions.get((isKeyed ? keyOf(entry, mergeKey) : entry) ?? null)
    // Whoever looks through the order comes past that entry first.
    if (odd >= 0 && (at ?? order.length) > odd)
      throw cannotMerge(`value for key ${odd} is not a map`)
    return at !== undefined
  })
  // Of what has no merge key none can be put in order.
  if (holdObjects(current ?? [], patched ?? []))
    for (const entry of [...named, ...order, ...others, ...(current ?? [])]) keyOf(entry, mergeKey)
  return inOrder(named, others, order, serverOrder(current, patched, mergeKey), identify)
}

/**
 * What is on the server, and in Go's slice of that, too, what the patch adds: as much of it as there are places that its
 * deletions have left.
 */
const serverOrder = (
  current: JsonValue[] = [],
  patched: JsonValue[] = [],
  mergeKey: string,
): JsonValue[] => {
  if (mergeKey === '') return current
  const keyIn = (entry: JsonValue) => (entry as JsonObject)[mergeKey]!
  const directiveOf = (entry: JsonValue) => (entry as JsonObject)[patchDirective]
  const deleted = new Set(patched.filter((e) => directiveOf(e) === 'delete').map(keyIn))
  const kept = current.filter((entry) => !deleted.has(keyIn(entry)))
  const known = new Set(kept.map(keyIn))
  const added = patched.filter((e) => directiveOf(e) === undefined && !known.has(keyIn(e)))
  return [...kept, ...added].slice(0, current.length)
}

/**
 * The patch's list must be a part of the order, in that order. Entries that delete stand outside of it; other directives do
 * as long as the order is not at its end.
 */
const checkAgainstOrder = (patched: JsonValue[], order: JsonValue[], mergeKey: string): void => {
  if (order.length === 0 || patched.length === 0) return
  const isKeyed = mergeKey !== ''
  const identify: Identify = (entry) => (isKeyed ? keyOf(entry, mergeKey) : entry)
  const named = isKeyed
    ? patched.filter((entry) => {
        if (!isJsonObject(entry)) throw wrongType({}, entry)
        return entry[patchDirective] !== 'delete'
      })
    : patched
  let i = 0
  for (let at = 0; i < named.length && at < order.length; ) {
    const entry = named[i]!
    if (isJsonObject(entry) && Object.hasOwn(entry, patchDirective)) i++
    else if (identify(entry) === identify(order[at++]!)) i++
  }
  if (i < named.length) {
    throw cannotMerge(
      `The order in patch list:\n${goPrint(patched)}\n doesn't match $setElementOrder list:\n${goPrint(order)}\n`,
    )
  }
}
