/** x-kubernetes-embedded-resource: such an object has an apiVersion and a kind. */

import { type FieldError, required } from '#api/field-error.js'
import { getOwn, isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

export const validateEmbedded = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined
      ? []
      : value.flatMap((item, i) => validateEmbedded(item, items, `${path}[${i}]`))
  }
  if (!isJsonObject(value)) return []
  const errors: FieldError[] = []
  if (schema['x-kubernetes-embedded-resource'] === true)
    for (const name of ['apiVersion', 'kind'])
      if (!value[name]) errors.push(required(`${path}.${name}`))
  const valueSchema = valueSchemaOf(schema)
  for (const key of Object.keys(value)) {
    const inner = getOwn(schema.properties, key) ?? valueSchema
    if (inner === undefined) continue
    errors.push(...validateEmbedded(value[key]!, inner, path === '' ? key : `${path}.${key}`))
  }
  return errors
}
