/**
 * Which words of JSON schema a definition may use, and how (upstream's ValidateCustomResourceDefinitionOpenAPISchema
 * with its standard validator for v1).
 */

import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isJsonObject } from '#api/json-object.js'
import { compilePattern } from '#cel/patterns.js'
import type { StructuralSchema } from './structural-schema.js'

const unsupportedWords = [
  'id',
  '$schema',
  '$ref',
  'definitions',
  'additionalItems',
  'patternProperties',
  'dependencies',
]
// These two are dropped without a word in upstream's conversion when they are empty.
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (isJsonObject(value) && Object.keys(value).length === 0)

/** False when a word is used, anywhere, that upstream's structural type has no place for. */
export const hasStructuralForm = (schema: StructuralSchema): boolean => {
  const words = schema as unknown as Record<string, unknown>
  if (unsupportedWords.some((word) => !isEmpty(words[word]))) return false
  if (schema.uniqueItems === true || Array.isArray(schema.items)) return false
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) return false
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.not === undefined ? [] : [schema.not]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ]
  return inner.every(hasStructuralForm)
}

const scalarTypes = new Set(['string', 'boolean', 'integer', 'number'])

/** `defaultsForbidden`: why there may be no default here, or undefined. */
export const validateWords = (
  schema: StructuralSchema,
  path: string,
  { isRoot = false, defaultsForbidden }: { isRoot?: boolean; defaultsForbidden?: string } = {},
): FieldError[] => {
  const errors = [...ownWords(schema, path, defaultsForbidden)]
  const { additionalProperties, properties, items } = schema
  const inner = { defaultsForbidden }
  if (typeof additionalProperties === 'object')
    errors.push(...validateWords(additionalProperties, child(path, 'additionalProperties'), inner))
  for (const [key, property] of Object.entries(properties ?? {})) {
    const at = index(child(path, 'properties'), key)
    const reason =
      isRoot && key === 'metadata' ? 'must not be set in top-level metadata' : defaultsForbidden
    errors.push(...validateWords(property, at, { defaultsForbidden: reason }))
  }
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [i, branch] of (schema[word] ?? []).entries())
      errors.push(...validateWords(branch, index(child(path, word), i), inner))
  if (schema.not !== undefined) errors.push(...validateWords(schema.not, child(path, 'not'), inner))
  if (isJsonObject(items))
    errors.push(...validateWords(items as StructuralSchema, child(path, 'items'), inner))
  return [...errors, ...extensionErrors(schema, path)]
}

const ownWords = (
  schema: StructuralSchema,
  path: string,
  defaultsForbidden: string | undefined,
): FieldError[] => {
  const errors: FieldError[] = []
  const words = schema as unknown as Record<string, unknown>
  if (schema.default !== undefined && defaultsForbidden !== undefined)
    errors.push(forbidden(child(path, 'default'), defaultsForbidden))
  for (const word of unsupportedWords)
    if (word !== '$schema' && !isEmpty(words[word]))
      errors.push(forbidden(child(path, word), `${word} is not supported`))
  if (schema.type === 'null')
    errors.push(
      forbidden(child(path, 'type'), 'type cannot be set to null, use nullable as an alternative'),
    )
  if (Array.isArray(schema.items))
    errors.push(forbidden(child(path, 'items'), 'items must be a schema object and not an array'))
  if (schema.pattern) {
    try {
      compilePattern(schema.pattern)
    } catch (err) {
      const why = `must be a valid regular expression, but isn't: ${(err as Error).message}`
      errors.push(invalid(child(path, 'pattern'), schema.pattern, why))
    }
  }
  if (schema.uniqueItems === true)
    errors.push(
      forbidden(
        child(path, 'uniqueItems'),
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    )
  const { additionalProperties } = schema
  const hasProperties = Object.keys(schema.properties ?? {}).length > 0
  if (additionalProperties !== undefined && additionalProperties !== false && hasProperties)
    errors.push(
      forbidden(
        child(path, 'additionalProperties'),
        'additionalProperties and properties are mutual exclusive',
      ),
    )
  return errors
}

const mustHaveType = (
  schema: StructuralSchema,
  path: string,
  wanted: string,
  why: string,
): FieldError[] => {
  const at = child(path, 'type')
  if (schema.type === wanted) return []
  return [schema.type ? invalid(at, schema.type, why) : required(at, why)]
}

const extensionErrors = (schema: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(
      invalid(
        child(path, 'x-kubernetes-preserve-unknown-fields'),
        false,
        'must be true or undefined',
      ),
    )
  const mapType = schema['x-kubernetes-map-type']
  if (mapType !== undefined) {
    errors.push(
      ...mustHaveType(
        schema,
        path,
        'object',
        'must be object if x-kubernetes-map-type is specified',
      ),
    )
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(
        notSupported(child(path, 'x-kubernetes-map-type'), mapType, ['atomic', 'granular']),
      )
  }
  return [...errors, ...listTypeErrors(schema, path)]
}

const listTypeErrors = (schema: StructuralSchema, path: string): FieldError[] => {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const errors: FieldError[] = []
  if (listType !== undefined) {
    errors.push(
      ...mustHaveType(
        schema,
        path,
        'array',
        'must be array if x-kubernetes-list-type is specified',
      ),
    )
    if (!['atomic', 'set', 'map'].includes(listType))
      errors.push(
        notSupported(child(path, 'x-kubernetes-list-type'), listType, ['atomic', 'set', 'map']),
      )
  }
  if (keys.length > 0 && listType !== 'map') {
    const at = child(path, 'x-kubernetes-list-type')
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty'
    errors.push(listType === undefined ? required(at, why) : invalid(at, listType, why))
  }
  const items = isJsonObject(schema.items) ? schema.items : undefined
  if (items !== undefined && listType === 'set') errors.push(...setErrors(items, path))
  if (listType === 'map') errors.push(...mapErrors(items, keys, path))
  return errors
}

const setErrors = (items: StructuralSchema, path: string): FieldError[] => {
  const at = child(path, 'items')
  const errors: FieldError[] = []
  if (items.nullable === true)
    errors.push(
      forbidden(child(at, 'nullable'), 'cannot be nullable when x-kubernetes-list-type is set'),
    )
  const why = 'as item of a list with x-kubernetes-list-type=set'
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    errors.push(
      invalid(
        child(at, 'x-kubernetes-map-type'),
        items['x-kubernetes-map-type'] ?? null,
        `must be atomic ${why}`,
      ),
    )
  const inner = items['x-kubernetes-list-type']
  if (items.type === 'array' && inner !== undefined && inner !== 'atomic')
    errors.push(invalid(child(at, 'x-kubernetes-list-type'), inner, `must be atomic ${why}`))
  return errors
}

const mapErrors = (
  items: StructuralSchema | undefined,
  keys: readonly string[],
  path: string,
): FieldError[] => {
  const at = child(path, 'x-kubernetes-list-map-keys')
  const errors: FieldError[] = []
  if (keys.length === 0)
    errors.push(required(at, 'must not be empty if x-kubernetes-list-type is map'))
  if (items === undefined) return errors
  const itemsAt = child(path, 'items')
  if (items.nullable === true)
    errors.push(
      forbidden(
        child(itemsAt, 'nullable'),
        'cannot be nullable when x-kubernetes-list-type is map',
      ),
    )
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map"
    return [...errors, invalid(child(itemsAt, 'type'), items.type ?? '', why)]
  }
  const unknown = keys.some((k) => !Object.hasOwn(items.properties ?? {}, k))
  if (unknown) return [...errors, invalid(at, keys, 'entries must all be names of item properties')]
  for (const key of new Set(keys)) errors.push(...keyErrors(items, key, itemsAt))
  if (new Set(keys).size !== keys.length)
    errors.push(invalid(at, keys, 'must not contain duplicate entries'))
  return errors
}

const keyErrors = (items: StructuralSchema, key: string, itemsAt: string): FieldError[] => {
  const property = items.properties![key]!
  const at = index(child(itemsAt, 'properties'), key)
  const errors: FieldError[] = []
  if (!scalarTypes.has(property.type ?? ''))
    errors.push(
      invalid(
        child(at, 'type'),
        property.type ?? '',
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      ),
    )
  if (property.default === undefined && !(items.required ?? []).includes(key))
    errors.push(
      required(
        child(at, 'default'),
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      ),
    )
  if (property.nullable === true)
    errors.push(
      forbidden(
        child(at, 'nullable'),
        'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      ),
    )
  return errors
}
