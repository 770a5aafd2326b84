/** The schema of a custom resource version: JSONSchemaProps as the definition's author wrote it. */
import type { JsonValue } from '#api/object.js'

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
