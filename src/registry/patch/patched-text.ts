/**
 * A patched document as Go's patch libraries print it in errors: objects that the patch went through have their keys in
 * order, what it left alone keeps the order of its Go type.
 */

import type { KubeObject } from '#api/object.js'
import { printWritten } from '#json/as-written.js'
import { getOwn, isJsonObject, jsonEqual, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { type GoType, goFieldsOf, goTypeOfKey } from '../decode/go-type.js'
import { walkJsonPatch } from './json.js'
import { applyMergePatch, replaceByMergePatch } from './merge.js'

/**
 * `touched`: the part of a merge patch for it. A merge patch brings all but objects anew, even what is equal; only what is
 * looked through for nulls is put in order, and not what takes the place of an object.
 */
const printMerged = (
  after: JsonValue,
  before: JsonValue | undefined,
  touched: JsonValue | undefined,
): string => {
  const isObject = isJsonObject(after) && isJsonObject(before)
  if (isObject && isJsonObject(touched)) return printFields(after, before, touched)
  if (touched !== undefined)
    return printWritten(isJsonObject(before) ? after : withKeysInOrder(after))
  if (before !== undefined && jsonEqual(after, before)) return printWritten(before)
  return isObject ? printFields(after, before, {}) : printWritten(withKeysInOrder(after))
}

const printFields = (after: JsonObject, before: JsonObject, touched: JsonObject): string => {
  const fields = Object.keys(after)
    .sort()
    .map((key) => {
      const value = printMerged(after[key]!, getOwn(before, key), getOwn(touched, key))
      return `${printWritten(key)}:${value}`
    })
  return `{${fields.join(',')}}`
}

/** What a merge patch makes of a document. */
export const textOfMergePatch = (document: KubeObject, patch: JsonValue): string =>
  isJsonObject(patch)
    ? printFields(applyMergePatch(document, patch), document, patch)
    : printWritten(replaceByMergePatch(patch))

/** What a JSON patch makes of a document. */
export const textOfJsonPatch = (document: KubeObject, patch: JsonValue): string => {
  const { result, isWalked } = walkJsonPatch(document, patch)
  const print = (value: JsonValue): string => {
    if (value === null || typeof value !== 'object' || !isWalked(value)) return printWritten(value)
    if (Array.isArray(value)) return `[${value.map(print).join(',')}]`
    const keys = Object.keys(value).sort()
    return `{${keys.map((key) => `${printWritten(key)}:${print(value[key]!)}`).join(',')}}`
  }
  return print(result)
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
