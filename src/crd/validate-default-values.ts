/** Defaults must themselves meet the schema that they stand in (upstream's structural defaulting validation). */

import { child, type FieldError, index, invalid } from '#api/field-error.js'
import { cloneJson, jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { applyDefaults, dropNulls } from './apply-defaults.js'
import { prune } from './prune.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'
import { validateListSets, validateValue } from './validate-value.js'

export const validateDefaultValues = (schema: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (schema.default !== undefined && schema.default !== null)
    errors.push(...defaultErrors(schema, schema.default, child(path, 'default')))
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...validateDefaultValues(property, index(child(path, 'properties'), key)))
  const valueSchema = valueSchemaOf(schema)
  if (valueSchema !== undefined)
    errors.push(...validateDefaultValues(valueSchema, child(path, 'additionalProperties')))
  if (schema.items !== undefined)
    errors.push(...validateDefaultValues(schema.items, child(path, 'items')))
  return errors
}

const defaultErrors = (schema: StructuralSchema, value: JsonValue, path: string): FieldError[] => {
  const pruned = cloneJson(value)
  prune(pruned, schema, schema['x-kubernetes-embedded-resource'] === true)
  if (!jsonEqual(pruned, value)) return [invalid(path, value, 'must not have unknown fields')]
  dropNulls(pruned, schema)
  applyDefaults(pruned, schema)
  return [...validateValue(pruned, schema, ''), ...validateListSets(pruned, schema, '')].map(
    (e) => ({
      ...e,
      field: e.field === '' || e.field === '<nil>' ? path : `${path}.${e.field}`,
    }),
  )
}
