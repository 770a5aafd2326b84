/** The schemas that an OpenAPI document needs: those that its operations name, and what these name in turn. */

import type { GroupVersionKind } from '#api/group-version.js'
import { mapValues } from '#json/entries.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { conventions } from '#openapi/field-docs.js'
import { schemaNameOfKind, schemaNameOfRef, schemaNames, schemas } from '#openapi/schemas.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** `io.k8s.api.apps.v1.Deployment`; for a custom kind its group in reverse, `com.example.v1.Widget`. */
export const schemaNameOf = (gvk: GroupVersionKind): string =>
  schemaNameOfKind(gvk) ?? [...gvk.group.split('.').reverse(), gvk.version, gvk.kind].join('.')

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** Adds documentation to the schema of that name, where there is any. */
type Describe = (name: string, schema: JsonObject) => JsonObject

/** What every kind or list says of itself, documented as in one of the many that say it alike. */
const ownProperties = (describe: Describe, metadata: string, documented: string): JsonObject => {
  const string = { type: 'string' }
  const properties = { apiVersion: string, kind: string, metadata: { allOf: [ref(metadata)] } }
  const { properties: described } = describe(documented, { properties })
  return described as JsonObject
}

/** An embedded resource has the same properties, which upstream documents otherwise. */
const ofEmbedded = (ofResource: JsonObject): JsonObject => ({
  ...ofResource,
  apiVersion: {
    description: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
    type: 'string',
  },
  kind: {
    description: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
    type: 'string',
  },
})

/** What follows from the extensions of a structural schema, for readers who do not know them. */
const spelledOut = (schema: JsonValue, ofResource: JsonObject): JsonValue => {
  if (!isJsonObject(schema)) return schema
  const inner = (value: JsonValue) => spelledOut(value, ofResource)
  const { properties, items, additionalProperties } = schema
  const spelled: JsonObject = {
    ...schema,
    ...(isJsonObject(properties) ? { properties: mapValues(properties, inner) } : {}),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: inner(additionalProperties) }),
  }
  if (schema['x-kubernetes-int-or-string'] === true)
    spelled.anyOf ??= [{ type: 'integer' }, { type: 'string' }]
  if (schema['x-kubernetes-embedded-resource'] === true) {
    const required = (schema.required ?? []) as string[]
    spelled.required = [...new Set([...required, 'kind', 'apiVersion'])]
    spelled.properties = { ...(spelled.properties as JsonObject), ...ofEmbedded(ofResource) }
  }
  return spelled
}

const customSchemas = (row: ResourceDefinition, describe: Describe): [string, JsonObject][] => {
  const name = schemaNameOf(row.gvk)
  const ofResource = ownProperties(describe, schemaNames.objectMeta, schemaNames.pod)
  const own = spelledOut(row.structuralSchema ?? { type: 'object' }, ofResource) as JsonObject
  const { group, version, kind } = row.gvk
  const paths = Object.keys(row.selectableFields ?? {})
  const selectable: JsonObject =
    paths.length === 0
      ? {}
      : { 'x-kubernetes-selectable-fields': paths.map((fieldPath) => ({ fieldPath })) }
  return [
    [
      name,
      {
        ...own,
        properties: { ...(own.properties as JsonObject), ...ofResource },
        'x-kubernetes-group-version-kind': [{ group, version, kind }],
        ...selectable,
      },
    ],
    [
      schemaNameOf({ ...row.gvk, kind: row.listKind }),
      {
        description: `${row.listKind} is a list of ${kind}`,
        type: 'object',
        required: ['items'],
        properties: {
          ...ownProperties(describe, schemaNames.listMeta, schemaNames.status),
          items: {
            description: `List of ${row.gvr.resource}. More info: ${conventions}`,
            type: 'array',
            items: ref(name),
          },
        },
        'x-kubernetes-group-version-kind': [{ group, version, kind: row.listKind }],
        ...selectable,
      },
    ],
  ]
}

/** Tells the name that each `$ref` in the value points at. */
export const refsIn = (value: JsonValue, found: (name: string) => void): void => {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const element of value) refsIn(element, found)
    return
  }
  for (const [key, member] of Object.entries(value))
    if (key === '$ref' && typeof member === 'string') found(schemaNameOfRef(member))
    else refsIn(member, found)
}

/** In order of names. */
export const schemaClosure = (
  names: Iterable<string>,
  rows: Iterable<ResourceDefinition>,
  describe: Describe = (_name, schema) => schema,
): Record<string, JsonObject> => {
  const customRows = [...rows].filter((row) => row.isCustom)
  const custom = new Map(customRows.flatMap((row) => customSchemas(row, describe)))
  const closure = new Map<string, JsonObject>()
  const add = (name: string): void => {
    if (closure.has(name)) return
    const schema = custom.get(name) ?? (schemas()[name] as JsonObject | undefined)
    if (schema === undefined) return
    closure.set(name, custom.has(name) ? schema : describe(name, schema))
    refsIn(schema, add)
  }
  for (const name of names) add(name)
  return Object.fromEntries([...closure].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const swaggerMember = (member: JsonValue, key: string): JsonValue => {
  if (key === '$ref' && typeof member === 'string')
    return member.replace('#/components/schemas/', '#/definitions/')
  // Names of properties are no keywords: a LimitRange has one that is called default.
  if (key === 'properties' && typeof member === 'object' && member !== null)
    return mapValues(member as JsonObject, toSwaggerSchema)
  return key === 'enum' || key.startsWith('x-') ? member : toSwaggerSchema(member)
}

/** A custom kind's schema without what OpenAPI 2 cannot say: that something may be null, or hold anything. */
const openEnded = (schema: JsonObject): JsonObject => {
  const { type, properties, items, additionalProperties, ...rest } = schema
  const gvk = schema['x-kubernetes-group-version-kind']
  // Clients would take the properties of a whole kind for all that there may be.
  if (gvk !== undefined) return { type: 'object', 'x-kubernetes-group-version-kind': gvk }
  return rest
}

/** OpenAPI 2 has neither oneOf nor siblings of a reference inside allOf: the forms that upstream publishes there. */
export const toSwaggerSchema = (value: JsonValue): JsonValue => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(toSwaggerSchema)
  const { allOf, oneOf, anyOf, not, nullable, default: _default, ...rest } = value
  const only = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as JsonObject) : {}
  if (only.$ref !== undefined) return toSwaggerSchema({ ...rest, ...only })
  const isCustom = value['x-kubernetes-int-or-string'] === true || value.type !== undefined
  if (Array.isArray(oneOf) && !isCustom) return toSwaggerSchema({ ...rest, type: 'string' })
  const isOpen = nullable === true || value['x-kubernetes-preserve-unknown-fields'] === true
  return mapValues(isOpen ? openEnded(rest) : rest, swaggerMember)
}
