/** The schemas of custom kinds in OpenAPI documents (apiextensions-apiserver, pkg/controller/openapi/builder). */

import { mapValues } from '#json/entries.js'
import { getOwn, isJsonObject, jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { conventions } from '#openapi/field-docs.js'
import { schemaNames } from '#openapi/schemas.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { schemaNameOf } from './schema-name.js'

export type OpenApiVersion = 'v2' | 'v3'

/** Adds documentation to the schema of that name, where there is any. */
export type Describe = (name: string, schema: JsonObject) => JsonObject

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

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

/** A schema with what `change` makes of the schemas inside it. */
const mapInner = (schema: JsonObject, change: (inner: JsonObject) => JsonObject): JsonObject => {
  const { properties, items, additionalProperties } = schema
  const changed = (inner: JsonValue): JsonValue => (isJsonObject(inner) ? change(inner) : inner)
  return {
    ...schema,
    ...(isJsonObject(properties) ? { properties: mapValues(properties, changed) } : {}),
    ...(items === undefined ? {} : { items: changed(items) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: changed(additionalProperties) }),
  }
}

const isNullable = (schema: JsonValue | undefined): boolean =>
  isJsonObject(schema) && schema.nullable === true

const isOpen = (schema: JsonObject): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true

/** Without what OpenAPI 2 cannot say, or kubectl takes amiss there (controller/openapi/v2: ToStructuralOpenAPIV2). */
const forOpenApi2 = (schema: JsonObject): JsonObject => {
  const { type, nullable } = schema
  const left = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'nullable'])
  if (nullable === true || isOpen(schema)) left.add('properties').add('items')
  const isListOfAny = type === 'array' && (schema.items === undefined || left.has('items'))
  if (nullable === true || (type === 'object' && isOpen(schema)) || isListOfAny) left.add('type')
  const kept = Object.fromEntries(Object.entries(schema).filter(([key]) => !left.has(key)))
  const { required, ...rest } = kept
  const fields = isJsonObject(kept.properties) ? kept.properties : {}
  const needed = isNullable(kept.additionalProperties)
    ? []
    : ((required ?? []) as string[]).filter((name) => !isNullable(getOwn(fields, name)))
  return mapInner(needed.length === 0 ? rest : { ...rest, required: needed }, forOpenApi2)
}

const intOrString: JsonObject[] = [{ type: 'integer' }, { type: 'string' }]

/** Says what an int-or-string may be, unless the schema does. Upstream: Structural.Unfold. */
const spellTypes = (schema: JsonObject): void => {
  const [first] = (schema.allOf ?? []) as JsonObject[]
  if (jsonEqual(schema.anyOf, intOrString) || jsonEqual(first?.anyOf, intOrString)) return
  if (schema.anyOf === undefined) schema.anyOf = intOrString
  else schema.allOf = [{ anyOf: intOrString }, ...((schema.allOf ?? []) as JsonObject[])]
}

/** What follows from the extensions of a structural schema, for readers who do not know them. */
const spelledOut = (
  schema: JsonObject,
  version: OpenApiVersion,
  ofResource: JsonObject,
): JsonObject => {
  const spelled = mapInner(schema, (inner) => spelledOut(inner, version, ofResource))
  const isV2 = version === 'v2'
  if (schema['x-kubernetes-int-or-string'] === true && !isV2) spellTypes(spelled)
  // In OpenAPI 2 kubectl would take these for all that there may be.
  if (schema['x-kubernetes-embedded-resource'] === true && !(isV2 && isOpen(schema))) {
    const required = (schema.required ?? []) as string[]
    spelled.required = [...new Set([...required, 'kind', 'apiVersion'])]
    spelled.properties = { ...(spelled.properties as JsonObject), ...ofEmbedded(ofResource) }
  }
  return spelled
}

const ownSchema = (
  schema: JsonObject,
  version: OpenApiVersion,
  ofResource: JsonObject,
): JsonObject => {
  if (version === 'v2' && isOpen(schema)) return { type: 'object' }
  const known = version === 'v2' ? forOpenApi2(schema) : schema
  const own = spelledOut(known, version, ofResource)
  return { ...own, properties: { ...(own.properties as JsonObject), ...ofResource } }
}

/** Those of a custom kind and of its list. */
export const customSchemas = (
  row: ResourceDefinition,
  version: OpenApiVersion,
  describe: Describe,
): [name: string, schema: JsonObject][] => {
  const name = schemaNameOf(row.gvk)
  const ofResource = ownProperties(describe, schemaNames.objectMeta, schemaNames.pod)
  const { kind } = row.gvk
  const gvk: JsonObject = { ...row.gvk }
  const paths = Object.keys(row.selectableFields ?? {})
  const selectable: JsonObject =
    paths.length === 0
      ? {}
      : { 'x-kubernetes-selectable-fields': paths.map((fieldPath) => ({ fieldPath })) }
  return [
    [
      name,
      {
        ...ownSchema(row.structuralSchema ?? { type: 'object' }, version, ofResource),
        'x-kubernetes-group-version-kind': [gvk],
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
        'x-kubernetes-group-version-kind': [{ ...gvk, kind: row.listKind }],
        ...selectable,
      },
    ],
  ]
}
