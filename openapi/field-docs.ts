/** Documentation of fields, when the build found some (scripts/field-docs.mjs): for `kubectl explain`. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mapValues } from '#json/entries.js'
import type { JsonObject } from '#json/value.js'

/** By schema, then by field; the empty field is the schema itself. */
type FieldDocs = Record<string, Record<string, string>>

const fileUrl = new URL('../field-docs.json', import.meta.url)
let loaded: FieldDocs | undefined

const fieldDocs = (): FieldDocs => {
  loaded ??= existsSync(fileUrl) ? (JSON.parse(readFileSync(fileUrl, 'utf8')) as FieldDocs) : {}
  return loaded
}

/** Tells builds with other documentation apart: clients keep documents by their hash. */
export const fieldDocsVersion = (): string =>
  existsSync(fileUrl) ? `docs-${statSync(fileUrl).size}` : 'no-docs'

/** The documentation of one field, `io.k8s.api.core.v1.ConfigMap.data`; empty if there is none. */
export const docOfField = (path: string): string => {
  const dot = path.lastIndexOf('.')
  return fieldDocs()[path.slice(0, dot)]?.[path.slice(dot + 1)] ?? ''
}

/** Of a query parameter; `kind` is that of the options of what is connected. */
export const docOfParameter = (
  name: string,
  {
    action = '',
    kind = '',
  }: { readonly action?: string | undefined; readonly kind?: string | undefined },
): string | undefined => {
  const docs = fieldDocs()
  const own = action === 'connect' ? kind : `parameters.${action}`
  return (docs[own] ?? docs.parameters)?.[name]
}

export const conventions =
  'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

/** A reference cannot have neighbours in OpenAPI 3.0: described ones are wrapped, as upstream does. */
const describeProperty = (schema: JsonObject, description: string): JsonObject =>
  schema.$ref === undefined
    ? { description, ...schema }
    : { description, allOf: [{ $ref: schema.$ref }] }

/** The schema with descriptions where there are any; itself where there are none. */
export const describeSchema = (name: string, schema: JsonObject): JsonObject => {
  const docs = fieldDocs()[name]
  if (docs === undefined) return schema
  const properties = schema.properties as Record<string, JsonObject> | undefined
  return {
    ...(docs[''] === undefined ? {} : { description: docs[''] }),
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: mapValues(properties, (property, field) => {
            const text = docs[field]
            return text === undefined ? property : describeProperty(property, text)
          }),
        }),
  }
}
