/** x-kubernetes-embedded-resource: such an object has an apiVersion, a kind, and metadata (apiextensions, objectmeta). */
import { child, type FieldError, invalid, printValue, required } from '#api/field-error.js'
import { parseGroupVersion } from '#api/group-version.js'
import { isKindName, pathSegmentName } from '#api/names.js'
import type { ObjectMeta } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { getOwn, isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { schemaNames } from '#openapi/schemas.js'
import { DecodeError } from '#registry/decode/explain.js'
import { decodeType } from '#registry/decode.js'
import { validateMeta } from '#registry/validate-object-meta.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

type Visit = (object: JsonObject, path: string) => void

/** Every object that the schema marks; the path of a map's value is `m[key]`. */
const visitEmbedded = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
  visit: Visit,
): void => {
  if (Array.isArray(value)) {
    const { items } = schema
    if (items !== undefined)
      value.forEach((item, i) => {
        visitEmbedded(item, items, `${path}[${i}]`, visit)
      })
    return
  }
  if (!isJsonObject(value)) return
  if (schema['x-kubernetes-embedded-resource'] === true) visit(value, path)
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(value)) {
    const property = getOwn(schema.properties, key)
    if (property !== undefined) visitEmbedded(value[key]!, property, child(path, key), visit)
    else if (valueSchema !== undefined)
      visitEmbedded(value[key]!, valueSchema, `${path}[${key}]`, visit)
  }
}

/** Reads it as its Go type, whose unknown fields are dropped and noted. A text says why it cannot be read. */
const readMetadata = (value: JsonValue, path = '', unknown?: string[]): JsonObject | string => {
  try {
    const { value: read, strictErrors } = decodeType(schemaNames.objectMeta, value, undefined, path)
    if (unknown !== undefined) pushAll(unknown, strictErrors)
    const { creationTimestamp, ...metadata } = read
    return creationTimestamp == null ? metadata : { ...metadata, creationTimestamp }
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
}

/** Reads metadata as its Go type and yields a message for each field that this does not know. Changes the value. Throws DecodeError. */
export const coerceEmbedded = (value: JsonValue, schema: StructuralSchema, path = ''): string[] => {
  const unknown: string[] = []
  visitEmbedded(value, schema, path, (object, at) => {
    const refuse = (name: string, why: string): never => {
      throw new DecodeError(
        `${child(at, name)}: Invalid value: ${printValue(withKeysInOrder(object[name]!))}: ${why}`,
      )
    }
    for (const name of ['apiVersion', 'kind'])
      if (Object.hasOwn(object, name) && typeof object[name] !== 'string')
        refuse(name, 'must be a string')
    if (object.metadata === undefined) return
    const metadata = readMetadata(object.metadata, child(at, 'metadata'), unknown)
    if (typeof metadata === 'string') refuse('metadata', metadata)
    object.metadata = metadata
  })
  return unknown.sort()
}

/**
 * The same for objects that were stored before the schema asked for it: what has the wrong type is dropped, too.
 * Changes the value.
 */
export const dropInvalidEmbedded = (value: JsonValue, schema: StructuralSchema): void =>
  visitEmbedded(value, schema, '', (object) => {
    for (const name of ['apiVersion', 'kind'])
      if (typeof object[name] !== 'string') delete object[name]
    const { metadata } = object
    if (metadata === undefined) return
    const whole = readMetadata(metadata)
    if (typeof whole !== 'string') object.metadata = whole
    else if (isJsonObject(metadata)) {
      const fits = ([name, field]: [string, JsonValue]) =>
        typeof readMetadata({ [name]: field }) !== 'string'
      object.metadata = readMetadata(Object.fromEntries(Object.entries(metadata).filter(fits)))
    }
  })

export const validateEmbedded = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  visitEmbedded(value, schema, path, (object, at) => {
    pushAll(errors, validateResource(object, at))
  })
  return errors
}

const validateResource = (object: JsonObject, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const { apiVersion, kind, metadata } = object
  for (const name of ['apiVersion', 'kind']) {
    const value = object[name]
    const at = child(path, name)
    if (value === undefined) errors.push(required(at))
    else if (typeof value !== 'string') errors.push(invalid(at, value, 'must be a string'))
    else if (value === '') errors.push(invalid(at, '', 'must not be empty'))
  }
  if (apiVersion && typeof apiVersion === 'string' && parseGroupVersion(apiVersion) === undefined)
    errors.push(
      invalid(
        child(path, 'apiVersion'),
        apiVersion,
        `unexpected GroupVersion string: ${apiVersion}`,
      ),
    )
  if (kind && typeof kind === 'string')
    errors.push(...isKindName(kind).map((m) => invalid(child(path, 'kind'), kind, m)))
  if (metadata === undefined) return errors
  const read = readMetadata(metadata)
  if (typeof read === 'string') return [...errors, invalid(child(path, 'metadata'), metadata, read)]
  const meta = read as unknown as ObjectMeta
  // A name may be missing; without a namespace the object counts as one of the cluster.
  const named = { ...meta, name: meta.name || 'fakename' }
  return [
    ...errors,
    ...validateMeta(named, Boolean(meta.namespace), pathSegmentName).map((e) => ({
      ...e,
      field: child(path, e.field),
    })),
  ]
}
