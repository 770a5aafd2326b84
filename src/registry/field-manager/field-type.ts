/**
 * Types as server-side apply sees them: each value is a scalar, a list or a map; lists are atomic, sets, or maps by key;
 * maps are atomic or granular. Compiled from OpenAPI or structural schemas, field by field at first use.
 * Source of the rules: kube-openapi, pkg/schemaconv; structured-merge-diff, schema/elements.go.
 */
import { oncePer } from '#async/once.js'
import { mapValues } from '#json/entries.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type Schema, schemaNameOfRef, schemaNames, schemas } from '#openapi/schemas.js'
import { fieldElement } from './path-element.js'

export type ScalarKind = 'numeric' | 'string' | 'boolean' | 'untyped'

export interface MapType {
  readonly atomic: boolean
  /** A field that the schema names; undefined for others. */
  field(key: string): NamedField | undefined
  /** The type of any other key; undefined if there may be no other. */
  readonly element: FieldType | undefined
  /** The default of a named field, for list keys that an entry leaves out. */
  defaultOf(key: string): JsonValue | undefined
  /** Nothing is known of this map: its fields are whatever is in it. */
  readonly deduced: boolean
}
interface NamedField {
  readonly type: FieldType
  /** Its path element. */
  readonly element: string
}
export interface ListType {
  readonly atomic: boolean
  /** Empty for sets. */
  readonly keys: readonly string[]
  readonly element: FieldType
}
/** What a value of this type may be; more than one for values that nothing is known of. */
export interface FieldType {
  readonly map?: MapType
  readonly scalar?: ScalarKind
  readonly list?: ListType
}

/** Opaque: one owner for the whole, whatever it is (RawExtension). */
const untypedAtomic: FieldType = {
  scalar: 'untyped',
  get list() {
    return { atomic: true, keys: [], element: untypedAtomic }
  },
  get map() {
    return makeMap(true, new Map(), () => untypedAtomic)
  },
}

/** Without a schema: maps are granular all the way down, lists are atomic. */
export const deducedType: FieldType = {
  scalar: 'untyped',
  list: { atomic: true, keys: [], element: untypedAtomic },
  map: {
    atomic: false,
    field: () => undefined,
    get element() {
      return deducedType
    },
    defaultOf: () => undefined,
    deduced: true,
  },
}

const makeMap = (
  atomic: boolean,
  properties: ReadonlyMap<string, Schema>,
  element: () => FieldType | undefined,
  typeOfField: (schema: Schema) => FieldType = () => deducedType,
): MapType => {
  const known = new Map<string, NamedField>()
  let elementType: FieldType | undefined | null = null
  return {
    atomic,
    field: (key) => {
      const found = known.get(key)
      if (found !== undefined) return found
      const schema = properties.get(key)
      if (schema === undefined) return undefined
      const field = { type: typeOfField(schema), element: fieldElement(key) }
      known.set(key, field)
      return field
    },
    get element() {
      if (elementType === null) elementType = element()
      return elementType
    },
    defaultOf: (key) => properties.get(key)?.default as JsonValue | undefined,
    get deduced() {
      return properties.size === 0 && this.element === deducedType
    },
  }
}

type Resolve = (name: string) => FieldType

const special: Readonly<Record<string, FieldType>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { scalar: 'untyped' },
  // A choice of two types is any value to the merge; the decoder refuses the others.
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': deducedType,
  'io.k8s.apimachinery.pkg.runtime.RawExtension': untypedAtomic,
}

/** The type behind a name of openapi/data/schemas.json. */
export const fieldTypeOf = oncePer(
  (schemaName): FieldType =>
    special[schemaName] ?? compile(schemas()[schemaName] ?? {}, resolveRef),
)

const resolveRef: Resolve = (name) => fieldTypeOf(name)

const typeOf = (schema: Schema, resolve: Resolve, preserves: boolean): FieldType => {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (ref === undefined) return compile(schema, resolve, preserves)
  const type = resolve(schemaNameOfRef(ref))
  const mapType = schema['x-kubernetes-map-type']
  if (mapType === undefined || type.map === undefined) return type
  return withMapType(type, mapType === 'atomic')
}

/** A field may own what it refers to as a whole, or not, whatever the referred type says. */
const withMapType = (type: FieldType, atomic: boolean): FieldType => {
  const map = type.map!
  if (map.atomic === atomic) return type
  return {
    ...type,
    map: {
      atomic,
      field: map.field,
      defaultOf: map.defaultOf,
      get element() {
        return map.element
      },
      get deduced() {
        return map.deduced
      },
    },
  }
}

/** `inherited`: an enclosing schema preserves unknown fields, and so does everything that it describes. */
const compile = (schema: Schema, resolve: Resolve, inherited = false): FieldType => {
  const preserves = inherited || schema['x-kubernetes-preserve-unknown-fields'] === true
  switch (schema.type) {
    case 'object':
      return { map: compileMap(schema, resolve, preserves) }
    case 'array':
      return { list: compileList(schema, resolve, preserves) }
    case 'integer':
    case 'number':
      return { scalar: 'numeric' }
    case 'boolean':
      return { scalar: 'boolean' }
    case 'string':
      return {
        scalar: schema.format === undefined || schema.format === 'byte' ? 'string' : 'untyped',
      }
    // Without a type it is any, an integer or a string too; validation refuses others there.
    default:
      return schema.properties === undefined
        ? deducedType
        : { ...deducedType, map: compileMap(schema, resolve, preserves) }
  }
}

const compileMap = (schema: Schema, resolve: Resolve, preserves: boolean): MapType => {
  const properties = new Map(Object.entries(schema.properties ?? {}))
  const element = (): FieldType | undefined => {
    if (typeof schema.additionalProperties === 'object') {
      return typeOf(schema.additionalProperties, resolve, preserves)
    }
    const isOpen = schema.additionalProperties ?? (preserves || properties.size === 0)
    return isOpen ? deducedType : undefined
  }
  return makeMap(schema['x-kubernetes-map-type'] === 'atomic', properties, element, (property) =>
    typeOf(property, resolve, preserves),
  )
}

const compileList = (schema: Schema, resolve: Resolve, preserves: boolean): ListType => {
  const listType = schema['x-kubernetes-list-type']
  const strategy = schema['x-kubernetes-patch-strategy'] ?? ''
  const mergeKey = schema['x-kubernetes-patch-merge-key']
  const merges = listType === undefined && strategy.split(',').includes('merge')
  const keys =
    listType === 'map'
      ? (schema['x-kubernetes-list-map-keys'] ?? [])
      : merges && mergeKey !== undefined
        ? [mergeKey]
        : []
  let element: FieldType | undefined
  return {
    atomic: listType === 'atomic' || (listType === undefined && !merges),
    keys,
    get element() {
      element ??=
        schema.items === undefined ? deducedType : typeOf(schema.items, resolve, preserves)
      return element
    },
  }
}

const objectMeta = {
  $ref: `#/components/schemas/${schemaNames.objectMeta}`,
}
const typeMeta: Record<string, Schema> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: objectMeta,
}

/** The type of a custom resource with this structural schema. */
export const fieldTypeOfStructural = (structural: JsonObject): FieldType => {
  const schema = structural as Schema
  return compile(
    {
      ...embedded(schema),
      type: 'object',
      properties: { ...embedded(schema).properties, ...typeMeta },
    },
    resolveRef,
  )
}

/** Embedded resources have the three fields of every object, declared or not. */
const embedded = (schema: Schema): Schema => {
  const inner = (value: Schema): Schema => {
    const result = embedded(value)
    return value['x-kubernetes-embedded-resource'] === true
      ? { ...result, properties: { ...result.properties, ...typeMeta } }
      : result
  }
  return {
    ...schema,
    ...(schema.properties === undefined ? {} : { properties: mapValues(schema.properties, inner) }),
    ...(schema.items === undefined ? {} : { items: inner(schema.items) }),
    ...(typeof schema.additionalProperties === 'object'
      ? { additionalProperties: inner(schema.additionalProperties) }
      : {}),
  }
}
