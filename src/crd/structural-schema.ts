/** The schema of a custom resource version: JSONSchemaProps as the definition's author wrote it. */
import { oncePerObject } from '#async/once.js'
import { mapValues } from '#json/entries.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'

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
  example?: JsonValue
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

/** A branch as upstream's structural type has it, which has no place for it. */
export const withoutAdditional = ({
  additionalProperties: _lost,
  ...branch
}: StructuralSchema): StructuralSchema => branch

/** A copy in which each schema is what `change` makes of it, after those inside it. A branch is part of a combination. */
export const mapSchemas = (
  schema: StructuralSchema,
  change: (schema: StructuralSchema, isBranch: boolean) => StructuralSchema,
  isBranch = false,
): StructuralSchema => {
  const map = (one: StructuralSchema) => mapSchemas(one, change, isBranch)
  const mapBranch = (one: StructuralSchema) => mapSchemas(one, change, true)
  const { properties, items, additionalProperties, not } = schema
  const copy = { ...schema }
  if (properties !== undefined) copy.properties = mapValues(properties, map)
  if (isJsonObject(items)) copy.items = map(items)
  if (isJsonObject(additionalProperties)) copy.additionalProperties = map(additionalProperties)
  if (not !== undefined) copy.not = mapBranch(not)
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[name]
    if (branches !== undefined) copy[name] = branches.map(mapBranch)
  }
  return change(copy, isBranch)
}

const isEmpty = (value: JsonValue): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** What OpenAPI documents and field managers are made of: upstream's structural type, as it is written. */
export const publishedForm = oncePerObject((schema: StructuralSchema): JsonObject => {
  const published = mapSchemas(schema, (one, isBranch) => {
    const { example, ...more } = isBranch ? withoutAdditional(one) : one
    return example === undefined || isEmpty(example) ? more : { ...more, example }
  })
  return published as JsonObject
})
