/**
 * What strategic merge needs to know of a type: which fields are structs, maps and lists, and how their lists merge.
 * Compiled from the schemas field by field when a patch first touches it, and kept.
 */
import { type Schema, schemaNameOfRef, schemas } from '#openapi/schemas.js'

export interface PatchField {
  readonly type: PatchType
  /** Empty: objects merge and lists are replaced. */
  readonly strategy: '' | 'merge' | 'replace'
  /** The field that tells the entries of a merged list apart; empty for lists of scalars. */
  readonly mergeKey: string
}

/** Scalars by the name of their Go type; `custom` decodes itself (times, quantities, raw JSON, int-or-string). */
export type PatchTypeKind =
  | 'struct'
  | 'map'
  | 'slice'
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'bytes'
  | 'quantity'
  | 'time'
  | 'custom'

export interface PatchType {
  readonly kind: PatchTypeKind
  /** The last part of the schema's name, for messages. */
  readonly name: string
  /** The field of a struct; undefined when it has none of this name. */
  field(key: string): PatchField | undefined
  /** The fields of a struct in the order of the schema. */
  readonly fieldNames: readonly string[]
  /** Values of a map, entries of a slice. */
  element(): PatchType
}

const byName = new Map<string, PatchType>()

/** The type behind a name of openapi/data/schemas.json. */
export const patchTypeOf = (schemaName: string): PatchType => {
  let type = byName.get(schemaName)
  if (type === undefined) {
    type = compile(schemas()[schemaName]!, schemaName)
    byName.set(schemaName, type)
  }
  return type
}

const special: Readonly<Record<string, PatchTypeKind>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'time',
}

const typeOf = (schema: Schema): PatchType => {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  return ref === undefined ? compile(schema, '') : patchTypeOf(schemaNameOfRef(ref))
}

const kindOf = (schema: Schema, name: string): PatchTypeKind => {
  const known = special[name]
  if (known !== undefined) return known
  switch (schema.type) {
    case 'object':
      if (schema.properties !== undefined) return 'struct'
      return schema.additionalProperties !== undefined ? 'map' : name === '' ? 'custom' : 'struct'
    case 'array':
      return 'slice'
    case 'string':
      return schema.format === 'byte' ? 'bytes' : schema.format === undefined ? 'string' : 'custom'
    case 'boolean':
      return 'bool'
    case 'integer':
      return schema.format === 'int32' ? 'int32' : 'int64'
    case 'number':
      return 'float64'
    default:
      return 'custom'
  }
}

const nothing: PatchType = {
  kind: 'custom',
  name: '',
  fieldNames: [],
  field: () => undefined,
  element: () => nothing,
}

const compile = (schema: Schema, name: string): PatchType => {
  const fields = new Map<string, PatchField>()
  const properties = new Map(Object.entries(schema.properties ?? {}))
  let element: PatchType | undefined
  return {
    kind: kindOf(schema, name),
    name: name.slice(name.lastIndexOf('.') + 1),
    fieldNames: [...properties.keys()],
    field: (key) => {
      const known = fields.get(key)
      if (known !== undefined) return known
      const property = properties.get(key)
      if (property === undefined) return undefined
      const field = fieldOf(property)
      fields.set(key, field)
      return field
    },
    element: () => {
      const inner = schema.items ?? schema.additionalProperties
      element ??= inner === undefined ? nothing : typeOf(inner)
      return element
    },
  }
}

const fieldOf = (schema: Schema): PatchField => {
  const strategies = (schema['x-kubernetes-patch-strategy'] ?? '').split(',')
  const strategy = strategies.find((s) => s === 'merge' || s === 'replace') ?? ''
  return { type: typeOf(schema), strategy, mergeKey: schema['x-kubernetes-patch-merge-key'] ?? '' }
}
