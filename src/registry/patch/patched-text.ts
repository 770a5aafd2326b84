/**
 * A patched document as Go's patch libraries print it in errors: objects that the patch went through have their keys in
 * order, what it left alone keeps the order of its Go type.
 */

import { printWritten } from '#api/json-as-written.js'
import { getOwn, isJsonObject, jsonEqual, setOwn, withKeysInOrder } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { goTypeName } from '#openapi/schemas.js'
import { type GoType, goFieldsOf, goTypeOfKey } from '../decode/go-type.js'
import { checkOperations } from './json.js'

interface PrintedPatch {
  /** A merge patch puts the keys of what it brings in order; a JSON patch keeps them as they were written. */
  readonly sortsNew: boolean
  /** Objects along the way of the patch, changed or not; of a merge patch that is the patch itself. */
  readonly touched: JsonValue
}

/** What a JSON patch goes through: every object on the way to a path, and all that a test compares. */
export const touchedByJsonPatch = (patch: JsonValue): JsonObject => {
  const touched: JsonObject = {}
  for (const { op, path, from } of checkOperations(patch)) {
    for (const pointer of [path, from]) {
      if (typeof pointer !== 'string') continue
      const tokens = pointer.split('/').slice(1, op === 'test' ? undefined : -1)
      let at = touched
      for (const token of tokens) {
        const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
        const next = getOwn(at, key)
        const inside: JsonObject = isJsonObject(next) ? next : {}
        setOwn(at, key, inside)
        at = inside
      }
    }
  }
  return touched
}

const print = (
  after: JsonValue,
  before: JsonValue | undefined,
  touched: JsonValue | undefined,
  sortsNew: boolean,
): string => {
  const isObject = isJsonObject(after) && isJsonObject(before)
  if (isObject && isJsonObject(touched)) return printObject(after, before, touched, sortsNew)
  // A merge patch brings all but objects anew, even what is equal.
  if (sortsNew && touched !== undefined) return printWritten(withKeysInOrder(after))
  if (touched === undefined && before !== undefined && jsonEqual(after, before))
    return printWritten(before)
  if (isObject) return printObject(after, before, {}, sortsNew)
  if (Array.isArray(after) && Array.isArray(before) && !sortsNew)
    return printList(after, before, isJsonObject(touched) ? touched : {}, sortsNew)
  return printWritten(sortsNew ? withKeysInOrder(after) : after)
}

const printObject = (
  after: JsonObject,
  before: JsonObject,
  touched: JsonObject,
  sortsNew: boolean,
): string => {
  const fields = Object.keys(after)
    .sort()
    .map((key) => {
      const value = print(after[key]!, getOwn(before, key), getOwn(touched, key), sortsNew)
      return `${JSON.stringify(key)}:${value}`
    })
  return `{${fields.join(',')}}`
}

/** Entries that were there before are printed as they were, wherever they are now. */
const printList = (
  after: JsonValue[],
  before: JsonValue[],
  touched: JsonObject,
  sortsNew: boolean,
): string => {
  const items = after.map((item, i) => {
    const same = before.find((one) => jsonEqual(one, item))
    return print(item, same ?? before[i], getOwn(touched, String(i)), sortsNew)
  })
  return `[${items.join(',')}]`
}

const inGoOrder = (value: JsonValue, type: GoType): JsonValue => {
  if (type.form === 'slice' && Array.isArray(value))
    return value.map((item) => inGoOrder(item, type.item))
  if (!isJsonObject(value)) return value
  if (type.form === 'map') {
    const entries = Object.entries(withKeysInOrder(value) as JsonObject)
    return Object.fromEntries(entries.map(([key, one]) => [key, inGoOrder(one, type.value)]))
  }
  if (type.form !== 'struct') return value
  const known: JsonObject = {}
  for (const field of goFieldsOf(type.key))
    if (Object.hasOwn(value, field.name))
      known[field.name] = inGoOrder(value[field.name]!, field.type)
  // What the table of fields does not name is a type's kind and apiVersion, which come first.
  const others = Object.entries(value).filter(([key]) => !Object.hasOwn(known, key))
  return { ...Object.fromEntries(others), ...known }
}

/** The document that upstream applies a patch to, its fields in order; of custom resources (without a schema's name) all keys are. A copy within it keeps that order. */
export const documentOf = (object: KubeObject, schemaName: string | undefined): KubeObject =>
  (schemaName === undefined
    ? withKeysInOrder(object)
    : inGoOrder(object, goTypeOfKey(goTypeName(schemaName)))) as KubeObject

/** `before` is the document that was patched. */
export const patchedText = (after: JsonValue, before: KubeObject, patch: PrintedPatch): string => {
  if (!isJsonObject(after)) return printWritten(after)
  const { sortsNew, touched } = patch
  return printObject(after, before, isJsonObject(touched) ? touched : {}, sortsNew)
}
