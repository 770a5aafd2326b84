/** Defaults must themselves meet the schema that they stand in (upstream's structural defaulting validation). */

import { child, type FieldError, index, invalid } from '#api/field-error.js'
import { cloneJson, isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { DecodeError } from '#registry/decode/explain.js'
import { coerceEmbedded, validateEmbedded } from './embedded.js'
import { prune } from './prune.js'
import { makeRuleChecker } from './rules/check-rules.js'
import { mapSchemas, type StructuralSchema } from './structural-schema.js'
import { validateValue } from './validate-value.js'

/** `schema` is a root: its objects have a kind and an apiVersion, and so has a default of the whole. */
export const validateDefaultValues = (schema: StructuralSchema, path: string): FieldError[] =>
  validate({ ...schema, 'x-kubernetes-embedded-resource': true }, path, true)

// Values of maps are not looked at, as upstream does not.
const validate = (schema: StructuralSchema, path: string, isRoot = false): FieldError[] => {
  const errors: FieldError[] = []
  if (schema.default !== undefined && schema.default !== null)
    errors.push(...defaultErrors(schema, schema.default, child(path, 'default'), isRoot))
  if (isJsonObject(schema.items)) errors.push(...validate(schema.items, child(path, 'items')))
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...validate(property, index(child(path, 'properties'), key)))
  return errors
}

const defaultErrors = (
  schema: StructuralSchema,
  value: JsonValue,
  path: string,
  isRoot: boolean,
): FieldError[] => {
  const copy = cloneJson(value)
  prune(copy, schema, schema['x-kubernetes-embedded-resource'] === true)
  const unpruned = jsonEqual(copy, value)
    ? []
    : [invalid(path, value, 'must not have unknown fields')]
  return [...unpruned, ...valueErrors(schema, value, path, isRoot)]
}

const valueErrors = (
  schema: StructuralSchema,
  value: JsonValue,
  path: string,
  isRoot: boolean,
): FieldError[] => {
  try {
    coerceEmbedded(value, schema, path)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const [field, body] = error.message.split(/: (.*)/s)
    return [{ type: 'FieldValueInvalid', field: field!, body: body! }]
  }
  const embedded = validateEmbedded(value, schema, path)
  if (embedded.length > 0) return embedded
  const errors = validateValue(value, withoutIntOrString(schema), '')
  if (errors.length > 0) return errors.map((e) => below(e, path))
  const rules = makeRuleChecker(schema, isRoot)
  if (rules === undefined) return []
  // It has to do as what stays, and as what comes.
  const asBefore = rules.check(value, { value })
  const wrong = asBefore.length > 0 ? asBefore : rules.check(value, undefined)
  return wrong.map((e) => below(e, path))
}

const below = (error: FieldError, path: string): FieldError => ({
  ...error,
  field: error.field === '' || error.field === '<nil>' ? path : `${path}.${error.field}`,
})

/** An int-or-string may have any default: upstream loses the word on this way. */
const withoutIntOrString = (schema: StructuralSchema): StructuralSchema =>
  mapSchemas(schema, ({ 'x-kubernetes-int-or-string': _lost, ...rest }) => rest)
