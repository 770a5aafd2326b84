/** Defaults must themselves meet the schema that they stand in (upstream's structural defaulting validation). */

import { eachEntry } from '#api/each.js'
import { aggregateMessage } from '#api/errors.js'
import { child, type FieldError, invalid } from '#api/field-error.js'
import { pushAll } from '#collections/push-all.js'
import { cloneJson, isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { DecodeError } from '#registry/decode/explain.js'
import { coerceEmbedded, validateEmbedded } from '../embedded.js'
import { hasUnknownFields } from '../prune.js'
import { makeRuleChecker } from '../rules/check-rules.js'
import { mapSchemas, type StructuralSchema, withoutAdditional } from '../structural-schema.js'
import { validateValue } from '../validate-value.js'

interface Place {
  /** The schema of the resource around, embedded or not. */
  readonly root: StructuralSchema
  /** A whole resource with a value at this place. */
  readonly surround: (value: JsonValue) => JsonValue
  /** In its kind, apiVersion or metadata: what those are decides, and not the schema. */
  readonly isMeta: boolean
}

const typeMeta = { kind: 'Validation', apiVersion: 'validation/v1' }

const placeOf = (root: StructuralSchema): Place => ({
  root,
  surround: (value) => (isJsonObject(value) ? { ...typeMeta, ...value } : value),
  isMeta: false,
})

/** `schema` is a root: its objects have a kind and an apiVersion, and so has a default of the whole. */
export const validateDefaultValues = (schema: StructuralSchema, path: string): FieldError[] => {
  const root = { ...schema, 'x-kubernetes-embedded-resource': true }
  return validate(root, path, placeOf(root))
}

const metaNames: ReadonlySet<string> = new Set(['metadata', 'apiVersion', 'kind'])

// Values of maps are not checked, as upstream.
const validate = (schema: StructuralSchema, path: string, around: Place): FieldError[] => {
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const place = isEmbedded ? placeOf(schema) : around
  const { surround } = place
  const errors: FieldError[] = []
  if (schema.default !== undefined && schema.default !== null)
    pushAll(errors, defaultErrors(schema, schema.default, child(path, 'default'), place))
  if (isJsonObject(schema.items)) {
    const inside = { ...place, surround: (value: JsonValue) => surround([value]) }
    pushAll(errors, validate(schema.items, child(path, 'items'), inside))
  }
  const ofProperty = (key: string, property: StructuralSchema, at: string): FieldError[] => {
    const inside = {
      ...place,
      surround: (value: JsonValue) => surround({ [key]: value }),
      isMeta: place.isMeta || (isEmbedded && metaNames.has(key)),
    }
    return validate(property, at, inside)
  }
  pushAll(errors, eachEntry(child(path, 'properties'), schema.properties, ofProperty))
  return errors
}

const defaultErrors = (
  schema: StructuralSchema,
  value: JsonValue,
  path: string,
  place: Place,
): FieldError[] => {
  const isRoot = schema === place.root
  if (place.isMeta) {
    const problem = metaProblem(place.surround(cloneJson(value)), place.root)
    return problem === undefined
      ? valueErrors(schema, value, path, isRoot)
      : [invalid(path, withKeysInOrder(value), `must result in valid metadata: ${problem}`)]
  }
  const isResource = schema['x-kubernetes-embedded-resource'] === true
  const coerced = cloneJson(value)
  const embedded = embeddedErrors(coerced, schema, path)
  // Printed once metadata was read: without what that does not know.
  const unpruned = hasUnknownFields(value, schema, isResource)
    ? [invalid(path, withKeysInOrder(coerced), 'must not have unknown fields')]
    : []
  return [
    ...unpruned,
    ...(embedded.length > 0 ? embedded : valueErrors(schema, coerced, path, isRoot)),
  ]
}

/** Why an object has no metadata that does (upstream's aggregated errors). */
const metaProblem = (object: JsonValue, root: StructuralSchema): string | undefined => {
  const errors = embeddedErrors(object, root, '')
  return errors.length === 0 ? undefined : aggregateMessage(errors)
}

/** Changes the value. */
const embeddedErrors = (value: JsonValue, schema: StructuralSchema, path: string): FieldError[] => {
  try {
    coerceEmbedded(value, schema, path)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const [field, body] = error.message.split(/: (.*)/s)
    return [{ type: 'FieldValueInvalid', field: field!, body: body! }]
  }
  return validateEmbedded(value, schema, path)
}

const valueErrors = (
  schema: StructuralSchema,
  value: JsonValue,
  path: string,
  isRoot: boolean,
): FieldError[] => {
  const errors = validateValue(value, asStructure(schema), '')
  if (errors.length > 0) return errors.map((e) => below(e, path))
  const rules = makeRuleChecker(schema, isRoot)
  if (rules === undefined) return []
  // It has to do as what stays, and as what comes.
  const asBefore = rules.check(value, { value }, path)
  return asBefore.length > 0 ? asBefore : rules.check(value, undefined, path)
}

const below = (error: FieldError, path: string): FieldError => ({
  ...error,
  field: error.field === '' || error.field === '<nil>' ? path : `${path}.${error.field}`,
})

/** An int-or-string may have any default: upstream loses the word on this way, and in branches another. */
const asStructure = (schema: StructuralSchema): StructuralSchema =>
  mapSchemas(schema, ({ 'x-kubernetes-int-or-string': _lost, ...rest }, isBranch) =>
    isBranch ? withoutAdditional(rest) : rest,
  )
