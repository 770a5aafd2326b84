/**
 * What a schema may say at its root when its version has a status subresource: the schema of the status is taken out of
 * the root's properties then, and must lose nothing by it (apiextensions, validation.go, allowedAtRootSchema).
 */
import { child, type FieldError, invalid } from '#api/field-error.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { internalRule } from './rules/internal-rule.js'
import type { StructuralSchema, ValidationRule } from './structural-schema.js'

type Print = (value: JsonValue) => JsonValue

/** Go prints a map sorted by its keys. */
const mapOf =
  (print: Print): Print =>
  (value) =>
    Object.fromEntries(
      Object.entries(value as JsonObject)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, inner]) => [key, print(inner)]),
    )

const same: Print = (value) => value
const list: Print = (value) => (value as JsonValue[]).map(internalForm)
const map: Print = (value) => mapOf(internalForm)(value)
const one: Print = (value) => internalForm(value)
const orBool: Print = (value) =>
  typeof value === 'boolean'
    ? { Allows: value, Schema: null }
    : { Allows: true, Schema: internalForm(value) }
const items: Print = (value) =>
  Array.isArray(value)
    ? { Schema: null, JSONSchemas: value.map(internalForm) }
    : { Schema: internalForm(value), JSONSchemas: null }
const dependencies = mapOf((entry) =>
  Array.isArray(entry)
    ? { Schema: null, Property: entry }
    : { Schema: internalForm(entry), Property: null },
)
const documents: Print = (value) => {
  const { description = '', url = '' } = value as JsonObject
  return { Description: description, URL: url }
}
const rules: Print = (value) => (value as unknown as ValidationRule[]).map(internalRule)

/** The fields of Go's internal type in its order: their names in JSON, what they are when unset, and how they print. */
const fields: readonly (readonly [name: string, json: string, zero: JsonValue, print: Print])[] = [
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
  ['Items', 'items', null, items],
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

const internalForm = (schema: JsonValue): JsonObject =>
  Object.fromEntries(
    fields.map(([name, json, zero, print]) => {
      const value = (schema as JsonObject)[json]
      return [name, value === undefined || value === null ? zero : print(value)]
    }),
  )

const allowed =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations'
const allowedNames = new Set(allowed.split(' '))

/** `path` ends in openAPIV3Schema. */
export const validateRootWithStatus = (schema: StructuralSchema, path: string): FieldError[] => {
  const given = schema as JsonObject
  const isGiven = ([, json, zero]: (typeof fields)[number]): boolean => {
    const value = given[json]
    return value !== undefined && value !== null && !jsonEqual(value, zero)
  }
  // The status has the schema of a property, which only objects have. Of several problems the first is told.
  const wrong = fields
    .filter(isGiven)
    .find(([name]) => (name === 'Type' ? schema.type !== 'object' : !allowedNames.has(name)))
  if (wrong === undefined) return []
  const where = 'at the root of the schema if the status subresource is enabled'
  return wrong[0] === 'Type'
    ? [invalid(child(path, 'type'), schema.type, `only "object" is allowed as the type ${where}`)]
    : [invalid(path, internalForm(given), `only [${allowed}] fields are allowed ${where}`)]
}
