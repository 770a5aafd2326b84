/**
 * Defaulting: a default fills in for a field that is missing, or null where null is not allowed, inside what is
 * there. Works on a private copy, in place.
 */
import { cloneJson, getOwn, isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/** True when the schema or anything in it has a default: without one, reads need no second pass. */
export const hasDefaults = (schema: StructuralSchema): boolean =>
  schema.default !== undefined ||
  Object.values(schema.properties ?? {}).some(hasDefaults) ||
  (schema.items !== undefined && hasDefaults(schema.items)) ||
  (valueSchemaOf(schema) !== undefined && hasDefaults(valueSchemaOf(schema)!))

export const applyDefaults = (value: JsonValue, schema: StructuralSchema): void => {
  if (Array.isArray(value)) {
    if (schema.items === undefined) return
    for (let i = 0; i < value.length; i++) {
      const items = schema.items
      if (value[i] === null && !items.nullable && items.default !== undefined)
        value[i] = cloneJson(items.default)
      applyDefaults(value[i]!, items)
    }
    return
  }
  if (!isJsonObject(value)) return
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined) continue
    const missing = !Object.hasOwn(value, key)
    if (missing || (value[key] === null && !property.nullable)) {
      Object.defineProperty(value, key, {
        value: cloneJson(property.default),
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
  }
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(value)) {
    const inner = getOwn(schema.properties, key) ?? valueSchema
    if (inner === undefined) continue
    if (value[key] === null && !inner.nullable && inner.default !== undefined)
      value[key] = cloneJson(inner.default)
    applyDefaults(value[key]!, inner)
  }
}

/** Drops nulls where the schema does not allow null and has no default for them (upstream prunes them first). */
export const dropNulls = (value: JsonValue, schema: StructuralSchema): void => {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) dropNulls(item, schema.items)
    return
  }
  if (!isJsonObject(value)) return
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(value)) {
    const inner = getOwn(schema.properties, key) ?? valueSchema
    if (inner === undefined) continue
    if (value[key] === null && !inner.nullable && inner.default === undefined) delete value[key]
    else dropNulls(value[key]!, inner)
  }
}
