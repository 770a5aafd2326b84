/**
 * What one version of an object has that another has not, as field sets: one walk over both.
 * Source of the rules: structured-merge-diff, typed/compare.go.
 */
import { addToList } from '#collections/add-to-list.js'
import { holdsGivenOtherwise } from '#json/given-empty.js'
import { isJsonObject, jsonEqual, lengthOf } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { emptySet, type FieldSet, leaf } from './field-set.js'
import type { FieldType, ListType, MapType } from './field-type.js'
import { elementOf, type Form, formOf, isEmptyOrNot } from './list-item.js'
import { fieldElement } from './path-element.js'
import { type SetStep, startMember, startSet } from './shared-sets.js'

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** Sets in the making; parts are made when something goes into them. */
interface Parts {
  /** About how many children there may be. */
  readonly length: number
  added: SetStep | undefined
  modified: SetStep | undefined
  removed: SetStep | undefined
}
const partNames = ['added', 'modified', 'removed'] as const
type Part = (typeof partNames)[number]

const startParts = (length: number): Parts => ({
  length,
  added: undefined,
  modified: undefined,
  removed: undefined,
})

export const nothingChanged: Comparison = {
  added: emptySet,
  modified: emptySet,
  removed: emptySet,
}

/**
 * Upstream compares lists as Go does, so that what was given as empty in one of them is no longer what storage has: nil;
 * nor is a quantity in other words. In maps it passes over what omitempty leaves out, and takes quantities as text.
 */
const equalLists = (before: JsonValue, after: JsonValue): boolean =>
  jsonEqual(before, after) && !holdsGivenOtherwise(after)

const hasNewEmpty = (value: JsonValue): boolean => {
  if (Array.isArray(value)) return holdsGivenOtherwise(value)
  return isJsonObject(value) && Object.values(value).some(hasNewEmpty)
}

/** Throws TypeMismatch when a list holds what cannot be told apart. */
export const compareObjects = (
  before: JsonObject,
  after: JsonObject,
  type: FieldType,
): Comparison => {
  if (before === after || type.map === undefined) return nothingChanged
  const parts = compareFields(type.map, before, after)
  return {
    added: parts.added?.set() ?? emptySet,
    modified: parts.modified?.set() ?? emptySet,
    removed: parts.removed?.set() ?? emptySet,
  }
}

const put = (parts: Parts, part: Part, key: string, node: FieldSet): void => {
  parts[part] = (parts[part] ?? startSet(parts.length)).with(key, node)
}

const putAll = (parts: Parts, key: string, inner: Parts): void => {
  for (const part of partNames)
    if (inner[part] !== undefined) put(parts, part, key, inner[part].set())
}

const compareValues = (
  type: FieldType,
  key: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  parts: Parts,
): void => {
  if (before === after) return
  if (before === undefined) put(parts, 'added', key, wholeOf(type, after!))
  else if (after === undefined) put(parts, 'removed', key, wholeOf(type, before))
  else {
    const form = formOf(type, before)
    const other = formOf(type, after)
    if (other === form) compareAs(form, type, key, before, after, parts)
    else compareAsBoth([form, other], type, key, before, after, parts)
  }
}

/** A value that changed its form is compared in the old and in the new one: the key gets what either says. */
const compareAsBoth = (
  forms: readonly Form[],
  type: FieldType,
  key: string,
  before: JsonValue,
  after: JsonValue,
  parts: Parts,
): void => {
  const found = forms.map((form) => {
    const inner = startParts(1)
    compareAs(form, type, key, before, after, inner)
    return inner
  })
  for (const part of partNames) {
    const nodes = found.map((inner) => inner[part]?.set()[key]).filter((node) => node !== undefined)
    if (nodes.length > 0) put(parts, part, key, Object.assign({}, ...nodes) as FieldSet)
  }
}

const compareAs = (
  form: Form,
  type: FieldType,
  key: string,
  before: JsonValue,
  after: JsonValue,
  parts: Parts,
): void => {
  const isLeaf =
    form === 'scalar' ||
    type[form]!.atomic ||
    (isEmptyOrNot(before, form) && isEmptyOrNot(after, form))
  if (isLeaf) {
    if (!jsonEqual(before, after) || hasNewEmpty(after)) put(parts, 'modified', key, leaf)
    return
  }
  if (form === 'map') {
    const left = isJsonObject(before) ? before : {}
    const right = isJsonObject(after) ? after : {}
    putAll(parts, key, compareFields(type.map!, left, right))
  } else {
    const left = Array.isArray(before) ? before : []
    const right = Array.isArray(after) ? after : []
    putAll(parts, key, compareEntries(type.list!, left, right))
  }
}

const compareFields = (map: MapType, before: JsonObject, after: JsonObject): Parts => {
  const parts = startParts(Math.max(lengthOf(before), lengthOf(after)))
  for (const key in after) {
    const left = Object.hasOwn(before, key) ? before[key] : undefined
    const right = after[key]
    if (left === right) continue
    const field = map.field(key)
    const type = field?.type ?? map.element
    if (type !== undefined)
      compareValues(type, field?.element ?? fieldElement(key), left, right, parts)
  }
  for (const key in before) {
    if (Object.hasOwn(after, key)) continue
    const field = map.field(key)
    const type = field?.type ?? map.element
    if (type !== undefined)
      compareValues(type, field?.element ?? fieldElement(key), before[key], undefined, parts)
  }
  return parts
}

/** Entries by their element; the few that come more than once are lists of their own. */
export const indexEntries = (
  elements: readonly string[],
  items: readonly JsonValue[],
): Map<string, JsonValue[]> => {
  const index = new Map<string, JsonValue[]>()
  for (let i = 0; i < items.length; i++) {
    const element = elements[i]!
    const item = items[i]!
    addToList(index, element, item)
  }
  return index
}

const compareEntries = (list: ListType, before: JsonValue[], after: JsonValue[]): Parts => {
  const parts = startParts(Math.max(before.length, after.length))
  // Most lists of most writes; telling their entries apart costs more than this.
  if (equalLists(before, after)) return parts
  const indexed = (items: JsonValue[]) =>
    indexEntries(
      items.map((item) => elementOf(list, item)),
      items,
    )
  const left = indexed(before)
  const right = indexed(after)
  for (const [element, items] of left) {
    compareEntry(list, element, items, right.get(element) ?? [], parts)
  }
  for (const [element, items] of right) {
    if (!left.has(element)) compareEntry(list, element, [], items, parts)
  }
  return parts
}

/** An element that comes more than once is owned as a whole: what is in it cannot be told apart. */
const compareEntry = (
  list: ListType,
  element: string,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  parts: Parts,
): void => {
  if (before.length <= 1 && after.length <= 1) {
    compareValues(list.element, element, before[0], after[0], parts)
  } else if (before.length >= 2 && after.length >= 2) {
    if (!equalLists([...before], [...after])) put(parts, 'modified', element, leaf)
  } else if (before.length >= 2) {
    compareValues(list.element, element, undefined, after[0], parts)
    put(parts, 'removed', element, leaf)
  } else {
    compareValues(list.element, element, before[0], undefined, parts)
    put(parts, 'added', element, leaf)
  }
}

/** Every path at and under a value that stands alone. */
const wholeOf = (type: FieldType, value: JsonValue): FieldSet => {
  const form = formOf(type, value)
  if (form === 'scalar' || type[form]!.atomic || isEmptyOrNot(value, form)) return leaf
  if (form === 'map') {
    const map = type.map!
    const object = value as JsonObject
    let step = startMember(lengthOf(object))
    for (const key in object) {
      const field = map.field(key)
      const inner = field?.type ?? map.element
      const part = object[key]
      if (inner === undefined || part === undefined) continue
      step = step.with(field?.element ?? fieldElement(key), wholeOf(inner, part))
    }
    return step.set()
  }
  const list = type.list!
  let step = startMember((value as JsonValue[]).length)
  for (const item of value as JsonValue[]) {
    // Twice the same element: what is in it cannot be told apart, so it is a leaf.
    step = step.with(elementOf(list, item), wholeOf(list.element, item))
  }
  return step.set()
}
