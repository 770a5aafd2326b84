/** CEL types and values of what a structural schema describes. */
import { type Environment, Optional } from '@marcbachmann/cel-js'
import type { JsonValue } from '#api/object.js'
import {
  isObject,
  ownProperty,
  type StructuralSchema,
  valueSchemaOf,
} from '../structural-schema.js'

const scalarTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'int',
  number: 'double',
  boolean: 'bool',
}
const stringFormats: Readonly<Record<string, string>> = {
  date: 'timestamp',
  'date-time': 'timestamp',

  byte: 'bytes',
}

// Names that CEL reserves; a field of that name is reached as `__name__`.
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** A property's name in CEL, or undefined when no expression can reach it. */
export const celName = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  return name
    .replace(/__/g, '__underscores__')
    .replace(/\./g, '__dot__')
    .replace(/-/g, '__dash__')
    .replace(/\//g, '__slash__')
}

const isOpaque = (schema: StructuralSchema): boolean =>
  schema['x-kubernetes-int-or-string'] === true || schema.type === undefined

/** Registers the types of `schema` in `env` and yields the name of its own. */
export const declareType = (
  env: Environment,
  schema: StructuralSchema,
  name: string,
  isRoot: boolean,
): string => {
  if (isOpaque(schema)) return 'dyn'
  if (schema.type === 'string') return stringFormats[schema.format ?? ''] ?? 'string'
  if (schema.type === 'array')
    return schema.items === undefined
      ? 'list'
      : `list<${declareType(env, schema.items, `${name}_items`, false)}>`
  if (schema.type !== 'object') return scalarTypes[schema.type ?? ''] ?? 'dyn'
  const valueSchema = valueSchemaOf(schema)
  if (valueSchema !== undefined)
    return `map<string, ${declareType(env, valueSchema, `${name}_values`, false)}>`
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true
  const fields = declareFields(env, schema, name, isResource)
  if (Object.keys(fields).length === 0 && schema['x-kubernetes-preserve-unknown-fields'] === true)
    return 'map<string, dyn>'
  env.registerType(name, { fields })
  return name
}

const declareFields = (
  env: Environment,
  schema: StructuralSchema,
  name: string,
  isResource: boolean,
): Record<string, string> => {
  const fields: Record<string, string> = {}
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const field = celName(key)
    if (field === undefined || (isResource && key === 'metadata')) continue
    // What preserves everything without a type of its own is out of the reach of rules.
    if (property.type === undefined && !property['x-kubernetes-int-or-string']) continue
    fields[field] = declareType(env, property, `${name}_${field}`, false)
  }
  if (isResource) {
    // Rules see the name and generateName of a resource, and nothing else of its metadata.
    env.registerType(`${name}_metadata`, { fields: { name: 'string', generateName: 'string' } })
    fields.metadata = `${name}_metadata`
    fields.apiVersion = 'string'
    fields.kind = 'string'
  }
  return fields
}

/** A JSON value as CEL sees it under its schema: integers are BigInt, dates are timestamps. */
export const celValue = (value: JsonValue, schema: StructuralSchema | undefined): unknown => {
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema?.items))
  if (isObject(value)) {
    const valueSchema = schema && valueSchemaOf(schema)
    const isMap = valueSchema !== undefined || schema?.properties === undefined
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        const name = isMap ? key : celName(key)
        if (name === undefined) return []
        return [[name, celValue(inner, ownProperty(schema?.properties, key) ?? valueSchema)]]
      }),
    )
  }
  if (typeof value === 'number')
    return schema?.type === 'number' || !Number.isInteger(value) ? value : BigInt(value)
  if (typeof value === 'string' && schema?.type === 'string') {
    if (schema.format === 'date' || schema.format === 'date-time') return new Date(value)
    if (schema.format === 'byte') return new Uint8Array(Buffer.from(value, 'base64'))
  }
  return value
}

export const celOptional = (value: unknown): Optional =>
  value === undefined ? Optional.none() : Optional.of(value)
