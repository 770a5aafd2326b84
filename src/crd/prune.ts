/**
 * Pruning: what a structural schema does not name is dropped, unless x-kubernetes-preserve-unknown-fields keeps it.
 * Works on a private copy, in place.
 */
import { cloneJson, getOwn, isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/**
 * Drops unknown fields from `value` and yields their paths as `spec.list[0].b`, sorted. `isRoot` marks the object itself:
 * kind, apiVersion and metadata are not the schema's business, neither its own nor those of embedded objects.
 */
export const prune = (value: JsonValue, schema: StructuralSchema, isRoot = true): string[] => {
  const unknown: string[] = []
  walk(value, schema, '', isRoot, unknown)
  return unknown.sort()
}

/** Whether there is anything that the schema does not know. */
export const hasUnknownFields = (
  value: JsonValue,
  schema: StructuralSchema,
  isRoot: boolean,
): boolean => prune(cloneJson(value), schema, isRoot).length > 0

const resourceFields = new Set(['kind', 'apiVersion', 'metadata'])

const at = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

const walk = (
  value: JsonValue,
  schema: StructuralSchema | undefined,
  path: string,
  isResource: boolean,
  unknown: string[],
): void => {
  if (Array.isArray(value)) {
    const preserves = schema?.['x-kubernetes-preserve-unknown-fields'] === true
    const items = schema?.items
    // A list where the schema has none holds nothing that is known.
    if (preserves && items === undefined) return
    const isResource = items?.['x-kubernetes-embedded-resource'] === true
    const inner = preserves ? { ...items, 'x-kubernetes-preserve-unknown-fields': true } : items
    value.forEach((item, i) => {
      walk(item, inner, `${path}[${i}]`, isResource, unknown)
    })
    return
  }
  if (isJsonObject(value)) walkObject(value, schema ?? {}, path, isResource, unknown)
}

const walkObject = (
  object: JsonObject,
  schema: StructuralSchema,
  path: string,
  isResource: boolean,
  unknown: string[],
): void => {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(object)) {
    if (isResource && resourceFields.has(key)) continue
    const inner = getOwn(schema.properties, key) ?? valueSchema
    // Any value may stand where `additionalProperties` is true, but nothing is known of what is in it.
    if (inner !== undefined || schema.additionalProperties === true) {
      const embedded = inner?.['x-kubernetes-embedded-resource'] === true
      walk(object[key]!, inner, at(path, key), embedded, unknown)
    } else if (!preserves) {
      delete object[key]
      unknown.push(at(path, key))
    }
  }
}
