/**
 * What a schema may say at its root when its version has a status subresource: the schema of the status is taken out of
 * the root's properties then, and must lose nothing by it (apiextensions, validation.go, allowedAtRootSchema).
 */
import { child, type FieldError, invalid } from '#api/field-error.js'
import { givenEmpty } from '#json/given-empty.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import type { StructuralSchema } from '../structural-schema.js'
import { internalSchema, schemaFields } from './internal-schema.js'

const allowed =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations'
const allowedNames = new Set(allowed.split(' '))

/** `path` ends in openAPIV3Schema. */
export const validateRootWithStatus = (schema: StructuralSchema, path: string): FieldError[] => {
  const given = schema as JsonObject
  const isGiven = ([, json, zero]: (typeof schemaFields)[number]): boolean => {
    const value = given[json] ?? givenEmpty(given, json)
    return value !== undefined && value !== null && !jsonEqual(value, zero)
  }
  // The status has the schema of a property, which only objects have. Of several problems the first is told.
  const wrong = schemaFields
    .filter(isGiven)
    .find(([name]) => (name === 'Type' ? schema.type !== 'object' : !allowedNames.has(name)))
  if (wrong === undefined) return []
  const where = 'at the root of the schema if the status subresource is enabled'
  return wrong[0] === 'Type'
    ? [invalid(child(path, 'type'), schema.type, `only "object" is allowed as the type ${where}`)]
    : [invalid(path, internalSchema(given), `only [${allowed}] fields are allowed ${where}`)]
}
