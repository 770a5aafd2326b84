/**
 * Pruning: what a structural schema does not name is dropped, unless x-kubernetes-preserve-unknown-fields keeps it.
 * Works on a private copy, in place.
 */
import { dotted } from '#api/field-error.js'
import { metadataFields } from '#api/object.js'
import { cloneJson, getOwn, isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

// Embedded metadata keeps these and no others.
const known = new Set<string>(metadataFields)

/**
 * Drops unknown fields from an object and yields their paths as `spec.list[0].b`: sorted, those of embedded metadata last.
 */
export const prune = (object: JsonValue, schema: StructuralSchema): string[] => {
  const unknown: Unknown = { fields: [], metadata: [] }
  walk(object, schema, { fields: '', metadata: '' }, true, unknown)
  return [...unknown.fields.sort(), ...unknown.metadata.sort()]
}

/** Whether there is anything that the schema does not know, apart from what stands in metadata of embedded objects. */
export const hasUnknownFields = (
  value: JsonValue,
  schema: StructuralSchema,
  isRoot: boolean,
): boolean => {
  const unknown: Unknown = { fields: [], metadata: [] }
  walk(cloneJson(value), schema, { fields: '', metadata: '' }, isRoot, unknown)
  return unknown.fields.length > 0
}

interface Unknown {
  readonly fields: string[]
  /** Paths in embedded metadata, which upstream checks in a pass of its own. */
  readonly metadata: string[]
}

/** Where a value is, as the two passes write it: the one over metadata puts keys of maps in brackets. */
interface Paths {
  readonly fields: string
  readonly metadata: string
}

const walk = (
  value: JsonValue,
  schema: StructuralSchema | undefined,
  path: Paths,
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
      const at = { fields: `${path.fields}[${i}]`, metadata: `${path.metadata}[${i}]` }
      walk(item, inner, at, isResource, unknown)
    })
    return
  }
  if (isJsonObject(value)) walkObject(value, schema ?? {}, path, isResource, unknown)
}

const walkObject = (
  object: JsonObject,
  schema: StructuralSchema,
  path: Paths,
  isResource: boolean,
  unknown: Unknown,
): void => {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(object)) {
    if (isResource && (key === 'kind' || key === 'apiVersion')) continue
    if (isResource && key === 'metadata') {
      if (path.metadata !== '') pruneMetadata(object[key]!, dotted(path.metadata, key), unknown)
      continue
    }
    const property = getOwn(schema.properties, key)
    const inner = property ?? valueSchema
    // Any value may stand where `additionalProperties` is true, but nothing is known of what is in it.
    if (inner !== undefined || schema.additionalProperties === true) {
      const embedded = inner?.['x-kubernetes-embedded-resource'] === true
      const isKey = property === undefined
      const metadata = isKey ? `${path.metadata}[${key}]` : dotted(path.metadata, key)
      walk(object[key]!, inner, { fields: dotted(path.fields, key), metadata }, embedded, unknown)
    } else if (!preserves) {
      delete object[key]
      unknown.fields.push(dotted(path.fields, key))
    }
  }
}

const pruneMetadata = (metadata: JsonValue, path: string, unknown: Unknown): void => {
  if (!isJsonObject(metadata)) return
  for (const key of Object.keys(metadata)) {
    if (known.has(key)) continue
    delete metadata[key]
    unknown.metadata.push(dotted(path, key))
  }
}
