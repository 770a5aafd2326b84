/** A schema as upstream prints it in messages: the JSON of its internal type (apiextensions, types_jsonschema.go). */
import { sortedEntries } from '#json/entries.js'
import { givenEmpty } from '#json/given-empty.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { internalRule } from '../rules/internal-rule.js'
import type { ValidationRule } from '../structural-schema.js'

type Print = (value: JsonValue) => JsonValue

/** Go prints a map sorted by its keys. */
const mapOf =
  (print: Print): Print =>
  (value) =>
    Object.fromEntries(
      sortedEntries(value as JsonObject).map(([key, inner]) => [key, print(inner)]),
    )

const same: Print = (value) => value
const list: Print = (value) => (value as JsonValue[]).map(internalSchema)
const map: Print = (value) => mapOf(internalSchema)(value)
const one: Print = (value) => internalSchema(value)
const orBool: Print = (value) =>
  typeof value === 'boolean'
    ? { Allows: value, Schema: null }
    : { Allows: true, Schema: internalSchema(value) }
export const internalItems: Print = (value) =>
  Array.isArray(value)
    ? { Schema: null, JSONSchemas: value.map(internalSchema) }
    : { Schema: internalSchema(value), JSONSchemas: null }
const dependencies = mapOf((entry) =>
  Array.isArray(entry)
    ? { Schema: null, Property: entry }
    : { Schema: internalSchema(entry), Property: null },
)
const documents: Print = (value) => {
  const { description = '', url = '' } = value as JsonObject
  return { Description: description, URL: url }
}
const rules: Print = (value) => (value as unknown as ValidationRule[]).map(internalRule)

/** The fields of Go's internal type in its order: their names in JSON, what they are when unset, and how they print. */
export const schemaFields: readonly (readonly [
  name: string,
  json: string,
  zero: JsonValue,
  print: Print,
])[] = [
  ['ID', 'id', '', same],
  ['Schema', '$schema', '', same],
  ['Ref', '$ref', null, same],
  ['Description', 'description', '', same],
  ['Type', 'type', '', same],
  ['Nullable', 'nullable', false, same],
  ['Format', 'format', '', same],
  ['Title', 'title', '', same],
  ['Default', 'default', null, same],
  ['Maximum', 'maximum', null, same],
  ['ExclusiveMaximum', 'exclusiveMaximum', false, same],
  ['Minimum', 'minimum', null, same],
  ['ExclusiveMinimum', 'exclusiveMinimum', false, same],
  ['MaxLength', 'maxLength', null, same],
  ['MinLength', 'minLength', null, same],
  ['Pattern', 'pattern', '', same],
  ['MaxItems', 'maxItems', null, same],
  ['MinItems', 'minItems', null, same],
  ['UniqueItems', 'uniqueItems', false, same],
  ['MultipleOf', 'multipleOf', null, same],
  ['Enum', 'enum', null, same],
  ['MaxProperties', 'maxProperties', null, same],
  ['MinProperties', 'minProperties', null, same],
  ['Required', 'required', null, same],
  ['Items', 'items', null, internalItems],
  ['AllOf', 'allOf', null, list],
  ['OneOf', 'oneOf', null, list],
  ['AnyOf', 'anyOf', null, list],
  ['Not', 'not', null, one],
  ['Properties', 'properties', null, map],
  ['AdditionalProperties', 'additionalProperties', null, orBool],
  ['PatternProperties', 'patternProperties', null, map],
  ['Dependencies', 'dependencies', null, dependencies],
  ['AdditionalItems', 'additionalItems', null, orBool],
  ['Definitions', 'definitions', null, map],
  ['ExternalDocs', 'externalDocs', null, documents],
  ['Example', 'example', null, same],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', null, same],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', false, same],
  ['XIntOrString', 'x-kubernetes-int-or-string', false, same],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', null, same],
  ['XListType', 'x-kubernetes-list-type', null, same],
  ['XMapType', 'x-kubernetes-map-type', null, same],
  ['XValidations', 'x-kubernetes-validations', null, rules],
]

export const internalSchema = (schema: JsonValue): JsonObject =>
  Object.fromEntries(
    schemaFields.map(([name, json, zero, print]) => {
      const value = (schema as JsonObject)[json] ?? givenEmpty(schema as JsonObject, json)
      return [name, value === undefined || value === null ? zero : print(value)]
    }),
  )
