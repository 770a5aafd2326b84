/**
 * Pruning: what a structural schema does not name is dropped, unless x-kubernetes-preserve-unknown-fields keeps it.
 * Works on a private copy, in place.
 */
import { dotted } from '#api/field-error.js'
import { cloneJson, getOwn, isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/** Paths of what was dropped, except where their names are so long that no text could hold all. */
class Unknown {
  readonly paths: string[] = []
  #length = 0

  add(path: string): void {
    if (this.#length > limits.strictErrorPathsLengthMax) return
    this.#length += path.length
    this.paths.push(path)
  }
}

/** Drops unknown fields from an object and yields their paths as `spec.list[0].b`, sorted. Leaves embedded metadata alone. */
export const prune = (object: JsonValue, schema: StructuralSchema): string[] => {
  const unknown = new Unknown()
  walk(object, schema, '', true, unknown)
  return unknown.paths.sort()
}

/** Whether there is anything that the schema does not know, apart from what stands in metadata of embedded objects. */
export const hasUnknownFields = (
  value: JsonValue,
  schema: StructuralSchema,
  isRoot: boolean,
): boolean => {
  const unknown = new Unknown()
  walk(cloneJson(value), schema, '', isRoot, unknown)
  return unknown.paths.length > 0
}

const walk = (
  value: JsonValue,
  schema: StructuralSchema | undefined,
  path: string,
  isResource: boolean,
  unknown: Unknown,
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
  unknown: Unknown,
): void => {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(object)) {
    if (isResource && (key === 'kind' || key === 'apiVersion' || key === 'metadata')) continue
    const inner = getOwn(schema.properties, key) ?? valueSchema
    // `additionalProperties` as a boolean drops no key, but nothing is known of what is in its value; false is for validation.
    if (inner !== undefined || schema.additionalProperties !== undefined) {
      const embedded = inner?.['x-kubernetes-embedded-resource'] === true
      walk(object[key]!, inner, dotted(path, key), embedded, unknown)
    } else if (!preserves) {
      delete object[key]
      unknown.add(dotted(path, key))
    }
  }
}
