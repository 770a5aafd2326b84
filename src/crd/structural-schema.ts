/** The schema of a custom resource version: JSONSchemaProps as the definition's author wrote it. */
import { mapValues } from '#json/entries.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'

export interface ValidationRule {
  rule: string
  message?: string
  messageExpression?: string
  reason?: string
  fieldPath?: string
  optionalOldSelf?: boolean
}

export interface StructuralSchema {
  type?: string
  format?: string
  nullable?: boolean
  default?: JsonValue
  properties?: Record<string, StructuralSchema>
  additionalProperties?: boolean | StructuralSchema
  items?: StructuralSchema
  required?: string[]
  enum?: JsonValue[]
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean
  exclusiveMaximum?: boolean
  multipleOf?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minProperties?: number
  maxProperties?: number
  allOf?: StructuralSchema[]
  anyOf?: StructuralSchema[]
  oneOf?: StructuralSchema[]
  not?: StructuralSchema
  title?: string
  description?: string
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: string
  'x-kubernetes-validations'?: ValidationRule[]
}

/** The schema of the values of a map, when there is one. */
export const valueSchemaOf = (schema: StructuralSchema): StructuralSchema | undefined =>
  typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined

/** A copy in which each schema is what `change` makes of it, after those inside it. */
export const mapSchemas = (
  schema: StructuralSchema,
  change: (schema: StructuralSchema) => StructuralSchema,
): StructuralSchema => {
  const map = (one: StructuralSchema) => mapSchemas(one, change)
  const { properties, items, additionalProperties, not } = schema
  const copy = { ...schema }
  if (properties !== undefined) copy.properties = mapValues(properties, map)
  if (isJsonObject(items)) copy.items = map(items)
  if (isJsonObject(additionalProperties)) copy.additionalProperties = map(additionalProperties)
  if (not !== undefined) copy.not = map(not)
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[name]
    if (branches !== undefined) copy[name] = branches.map(map)
  }
  return change(copy)
}
