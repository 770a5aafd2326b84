/** x-kubernetes-embedded-resource: such an object has an apiVersion, a kind, and metadata (apiextensions, objectmeta). */
import { child, type FieldError, invalid, printValue, required } from '#api/field-error.js'
import { parseGroupVersion } from '#api/group-version.js'
import { getOwn, isJsonObject } from '#api/json-object.js'
import { isKindName, pathSegmentName } from '#api/names.js'
import type { JsonObject, JsonValue, ObjectMeta } from '#api/object.js'
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

const readMetadata = (value: JsonValue, path: string): JsonObject => {
  try {
    const { creationTimestamp, ...metadata } = decodeType(schemaNames.objectMeta, value).value
    return creationTimestamp == null ? metadata : { ...metadata, creationTimestamp }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new DecodeError(`${path}.metadata: Invalid value: ${printValue(value)}: ${error.message}`)
  }
}

/** Reads metadata as its Go type; what that does not know goes. Changes the value. Throws DecodeError. */
export const coerceEmbedded = (value: JsonValue, schema: StructuralSchema, path = ''): void =>
  visitEmbedded(value, schema, path, (object, at) => {
    for (const name of ['apiVersion', 'kind'])
      if (Object.hasOwn(object, name) && typeof object[name] !== 'string')
        throw new DecodeError(
          `${at}.${name}: Invalid value: ${printValue(object[name])}: must be a string`,
        )
    if (object.metadata !== undefined) object.metadata = readMetadata(object.metadata, at)
  })

export const validateEmbedded = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  visitEmbedded(value, schema, path, (object, at) => {
    errors.push(...validateResource(object, at))
  })
  return errors
}

const validateResource = (object: JsonObject, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const { apiVersion, kind, metadata } = object
  for (const name of ['apiVersion', 'kind'])
    if (!Object.hasOwn(object, name)) errors.push(required(child(path, name)))
    else if (object[name] === '') errors.push(invalid(child(path, name), '', 'must not be empty'))
  if (apiVersion && parseGroupVersion(apiVersion as string) === undefined)
    errors.push(
      invalid(
        child(path, 'apiVersion'),
        apiVersion,
        `unexpected GroupVersion string: ${apiVersion}`,
      ),
    )
  if (kind)
    errors.push(...isKindName(kind as string).map((m) => invalid(child(path, 'kind'), kind, m)))
  if (!isJsonObject(metadata)) return errors
  const meta = metadata as unknown as ObjectMeta
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
