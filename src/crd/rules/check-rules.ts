/** Evaluates the validation rules of a schema on an object: compiled at first use, kept with the definition. */

import type { FieldError, FieldErrorType } from '#api/field-error.js'
import { printValue } from '#api/field-error.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import {
  isObject,
  ownProperty,
  type StructuralSchema,
  valueSchemaOf,
} from '../structural-schema.js'
import { celOptional, celValue } from './cel-types.js'
import { type CompiledRule, compileRule } from './compile-rule.js'

export interface RuleChecker {
  check(value: JsonValue, previous: JsonValue | undefined): FieldError[]
}

/** Rules are not evaluated on an object that does not meet its schema. */
export const rulesWereNotChecked: FieldError = {
  type: 'FieldValueInvalid',
  field: '<nil>',
  body: 'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
}

const hasRules = (schema: StructuralSchema): boolean =>
  (schema['x-kubernetes-validations'] ?? []).length > 0 ||
  Object.values(schema.properties ?? {}).some(hasRules) ||
  (schema.items !== undefined && hasRules(schema.items)) ||
  (valueSchemaOf(schema) !== undefined && hasRules(valueSchemaOf(schema)!))

/** Undefined when the schema has no rules. */
export const makeRuleChecker = (schema: StructuralSchema): RuleChecker | undefined => {
  if (!hasRules(schema)) return undefined
  const compiled = new Map<StructuralSchema, CompiledRule[]>()
  const rulesOf = (at: StructuralSchema, isRoot: boolean): CompiledRule[] => {
    let rules = compiled.get(at)
    if (rules === undefined) {
      rules = (at['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, at, isRoot))
      compiled.set(at, rules)
    }
    return rules
  }
  return {
    check: (value, previous) => walk({ value, previous, schema, path: '', isRoot: true }, rulesOf),
  }
}

interface Place {
  value: JsonValue
  previous: JsonValue | undefined
  schema: StructuralSchema
  path: string
  isRoot: boolean
}

type RulesOf = (schema: StructuralSchema, isRoot: boolean) => CompiledRule[]

const walk = (place: Place, rulesOf: RulesOf): FieldError[] => {
  const { value, previous, schema, path } = place
  // Ratcheting: what an update does not touch is not checked again.
  if (previous !== undefined && jsonEqual(value, previous)) return []
  const errors = rulesOf(schema, place.isRoot).flatMap((rule) => evaluate(rule, place))
  const inner = (next: JsonValue, old: JsonValue | undefined, at: StructuralSchema, to: string) =>
    errors.push(
      ...walk({ value: next, previous: old, schema: at, path: to, isRoot: false }, rulesOf),
    )
  if (Array.isArray(value)) {
    const { items } = schema
    if (items !== undefined && hasRules(items))
      value.forEach((item, i) => {
        inner(item, oldItem(item, previous, schema), items, `${path}[${i}]`)
      })
  } else if (isObject(value)) {
    const valueSchema = valueSchemaOf(schema)
    const old = isObject(previous) ? previous : {}
    for (const key of Object.keys(value)) {
      const property = ownProperty(schema.properties, key)
      if (property !== undefined) {
        if (hasRules(property))
          inner(value[key]!, old[key], property, path === '' ? key : `${path}.${key}`)
      } else if (valueSchema !== undefined && hasRules(valueSchema))
        inner(value[key]!, old[key], valueSchema, `${path}[${key}]`)
    }
  }
  return errors
}

/** Items of a list of type map are found again by their keys; others have no past. */
const oldItem = (
  item: JsonValue,
  previous: JsonValue | undefined,
  schema: StructuralSchema,
): JsonValue | undefined => {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(previous) || !isObject(item))
    return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return previous.find((o) => isObject(o) && keys.every((k) => jsonEqual(o[k], item[k])))
}

const evaluate = (compiled: CompiledRule, place: Place): FieldError[] => {
  const { rule, isTransition } = compiled
  const { value, previous, schema } = place
  const optional = rule.optionalOldSelf === true
  if (isTransition && previous === undefined && !optional) return []
  const old = previous === undefined ? undefined : celValue(previous, schema)
  const context = {
    self: celValue(value, schema),
    ...(isTransition ? { oldSelf: optional ? celOptional(old) : old } : {}),
  }
  try {
    if (compiled.evaluate(context) === true) return []
  } catch (err) {
    return [evaluationError(place, rule.rule, err as { summary?: string; message: string })]
  }
  return [failed(compiled, place, context)]
}

const evaluationError = (
  place: Place,
  rule: string,
  err: { summary?: string; message: string },
): FieldError => {
  const why = (err.summary ?? err.message).replace(/^No such key/, 'no such key')
  const shown = Array.isArray(place.value)
    ? '"array"'
    : isObject(place.value)
      ? '"object"'
      : printValue(place.value)
  return {
    type: 'FieldValueInvalid',
    field: place.path === '' ? '<nil>' : place.path,
    body: `Invalid value: ${shown}: ${why} evaluating rule: ${rule}`,
  }
}

const messageOf = (
  { rule, message }: CompiledRule,
  context: { self: unknown; oldSelf?: unknown },
): string => {
  if (message !== undefined) {
    try {
      const text = String(message(context)).trim()
      if (text !== '' && !/[\n\r]/.test(text)) return text
    } catch {
      // Upstream falls back to the fixed message as well.
    }
  }
  return rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
}

const failed = (
  compiled: CompiledRule,
  place: Place,
  context: { self: unknown; oldSelf?: unknown },
): FieldError => {
  const text = messageOf(compiled, context)
  const { fieldPath, reason = 'FieldValueInvalid' } = compiled.rule
  const field = `${place.path}${fieldPath ?? ''}`.replace(/^\./, '')
  const isScalar = !Array.isArray(place.value) && !isObject(place.value)
  const shown = isScalar ? `${printValue(place.value)}: ` : ''
  const heads: Record<string, string> = {
    FieldValueForbidden: 'Forbidden: ',
    FieldValueRequired: 'Required value: ',
    FieldValueDuplicate: `Duplicate value: ${shown}`,
    FieldValueInvalid: `Invalid value: ${shown}`,
  }
  return {
    type: reason as FieldErrorType,
    field: field === '' ? '<nil>' : field,
    body: `${heads[reason]}${text}`,
  }
}
