/** What a schema refers to, and its form in OpenAPI 2. */

import { mapValues } from '#json/entries.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { schemaNameOfRef } from '#openapi/schemas.js'

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

const swaggerMember = (member: JsonValue, key: string): JsonValue => {
  if (key === '$ref' && typeof member === 'string')
    return member.replace('#/components/schemas/', '#/definitions/')
  // Names of properties are no keywords: a LimitRange has one that is called default.
  if (key === 'properties' && typeof member === 'object' && member !== null)
    return mapValues(member as JsonObject, toSwaggerSchema)
  return key === 'enum' || key.startsWith('x-') ? member : toSwaggerSchema(member)
}

/** OpenAPI 2 has neither oneOf nor siblings of a reference inside allOf: the forms that upstream publishes there. */
export const toSwaggerSchema = (value: JsonValue): JsonValue => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(toSwaggerSchema)
  const { allOf, oneOf, default: _default, ...rest } = value
  const only = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as JsonObject) : {}
  if (only.$ref !== undefined) return toSwaggerSchema({ ...rest, ...only })
  if (Array.isArray(oneOf)) return toSwaggerSchema({ ...rest, type: 'string' })
  return mapValues(rest, swaggerMember)
}
