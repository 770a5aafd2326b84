/**
 * The fields that an applied configuration claims: its leaves, not the maps above them, but every list entry.
 * Source of the rules: structured-merge-diff, typed/tofieldset.go and fieldpath/set.go.
 */
import { isJsonObject, lengthOf } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type FieldSet, isEmptySet, leaf, memberWith } from './field-set.js'
import type { FieldType } from './field-type.js'
import { elementOrLost, formOf, isEmptyOrNot } from './list-item.js'
import { fieldElement } from './path-element.js'
import { sharedMember, startSet } from './shared-sets.js'

export const fieldSetOf = (value: JsonObject, type: FieldType): FieldSet =>
  contentOf(type, value) ?? leaf

/** The set under a value; undefined when the value itself is the leaf. */
const contentOf = (type: FieldType, value: JsonValue): FieldSet | undefined => {
  const form = formOf(type, value)
  if (form === 'scalar' || type[form]!.atomic) return undefined
  if (form === 'map') return isJsonObject(value) ? fieldsOf(type, value) : {}
  return Array.isArray(value) ? entriesOf(type, value) : {}
}

const fieldsOf = (type: FieldType, value: JsonObject): FieldSet => {
  const map = type.map!
  let step = startSet(lengthOf(value))
  for (const key in value) {
    const field = map.field(key)
    const named = field?.type
    const element = field?.element ?? fieldElement(key)
    const inner = value[key]!
    const content = contentOf(named ?? map.element ?? { scalar: 'untyped' }, inner)
    const claims =
      content === undefined ||
      named === undefined ||
      inner === null ||
      (isJsonObject(inner) && isEmptyOrNot(inner, 'map'))
    if (claims) step = step.with(element, sharedMember(content ?? leaf))
    else if (!isEmptySet(content)) step = step.with(element, content)
  }
  return step.set()
}

const entriesOf = (type: FieldType, items: readonly JsonValue[]): FieldSet => {
  const list = type.list!
  let step = startSet(items.length)
  for (const item of items) {
    step = step.with(elementOrLost(list, item), sharedMember(contentOf(list.element, item) ?? leaf))
  }
  return step.set()
}

/** Adds the fields that the schema names and that only have children: they go when all their children go. */
export const withNamedFields = (set: FieldSet, type: FieldType | undefined): FieldSet => {
  const result: JsonObject = {}
  for (const key in set) {
    const node = set[key] as FieldSet
    if (isEmptySet(node)) {
      result[key] = node
      continue
    }
    const isField = key[0] === 'f' && type?.map !== undefined
    const named = isField ? type.map.field(key.slice(2))?.type : undefined
    const inner = isField
      ? (named ?? type.map.element)
      : key[0] === 'k'
        ? type?.list?.element
        : undefined
    const children = withNamedFields(node, inner)
    result[key] = named === undefined ? children : memberWith(children)
  }
  return result
}

/** What lies under a type that became atomic since the set was made is owned as a whole. */
export const reconcileSet = (set: FieldSet, type: FieldType): FieldSet => {
  if (known.get(set) === type) return set
  const result = reconcileNode(set, type)
  known.set(result, type)
  return result
}

const known = new WeakMap<FieldSet, FieldType>()

const reconcileNode = (node: FieldSet, type: FieldType): FieldSet => {
  if (isEmptySet(node)) return node
  if (type.map !== undefined) {
    const { map } = type
    if (map.deduced) return node
    if (map.atomic) return leaf
    return mapChildren(node, (key) =>
      key[0] === 'f' ? (map.field(key.slice(2))?.type ?? map.element) : map.element,
    )
  }
  if (type.scalar !== undefined || type.list === undefined) return node
  return type.list.atomic ? leaf : mapChildren(node, () => type.list!.element)
}

const mapChildren = (node: FieldSet, typeOf: (key: string) => FieldType | undefined): FieldSet => {
  let result: JsonObject | undefined
  for (const key in node) {
    const child = node[key] as FieldSet
    const type = key === '.' ? undefined : typeOf(key)
    const reconciled = type === undefined ? child : reconcileNode(child, type)
    if (reconciled === child) continue
    result ??= { ...node }
    result[key] = reconciled
  }
  return result ?? node
}
