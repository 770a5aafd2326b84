/** Evaluates the validation rules of a schema on an object: compiled at first use, kept with the definition. */

import type { FieldError, FieldErrorType } from '#api/field-error.js'
import { printValue } from '#api/field-error.js'
import { getOwn, isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { CostExceeded } from '#cel/evaluation.js'
import { CelError, type CelValue, Optional } from '#cel/values.js'
import { limits } from '#limits'
import { type StructuralSchema, type ValidationRule, valueSchemaOf } from '../structural-schema.js'
import { celValue } from './cel-types.js'
import { type CompiledRule, compileRule, placeOf } from './compile-rule.js'

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

/** Undefined when the schema has no rules. `isRoot`: values are whole objects, not a part of one. */
export const makeRuleChecker = (
  schema: StructuralSchema,
  isRoot = true,
): RuleChecker | undefined => {
  if (!hasRules(schema)) return undefined
  const compiled = new Map<StructuralSchema, CompiledRule[]>()
  const rulesOf = (at: StructuralSchema, isWhole: boolean): CompiledRule[] => {
    let rules = compiled.get(at)
    if (rules === undefined) {
      const place = placeOf(at, isWhole)
      const written = at['x-kubernetes-validations'] ?? []
      rules = place === undefined ? [] : written.map((rule) => compileRule(rule, place))
      compiled.set(at, rules)
    }
    return rules
  }
  return {
    check: (value, previous) => {
      const budget = { left: limits.celObjectCostMax }
      return walk({ value, previous, schema, path: '', isRoot, budget }, rulesOf)
    },
  }
}

interface Place {
  value: JsonValue
  previous: JsonValue | undefined
  schema: StructuralSchema
  path: string
  isRoot: boolean
  budget: Budget
}

type RulesOf = (schema: StructuralSchema, isRoot: boolean) => CompiledRule[]

const walk = (place: Place, rulesOf: RulesOf): FieldError[] => {
  const { value, previous, schema, path } = place
  // Ratcheting: what an update does not touch is not checked again.
  if (previous !== undefined && jsonEqual(value, previous)) return []
  const errors = rulesOf(schema, place.isRoot).flatMap((rule) =>
    evaluate(rule, place, place.budget),
  )
  const inner = (next: JsonValue, old: JsonValue | undefined, at: StructuralSchema, to: string) =>
    errors.push(
      ...walk(
        { ...place, value: next, previous: old, schema: at, path: to, isRoot: false },
        rulesOf,
      ),
    )
  if (Array.isArray(value)) {
    const { items } = schema
    if (items !== undefined && hasRules(items))
      value.forEach((item, i) => {
        inner(item, oldItem(item, previous, schema), items, `${path}[${i}]`)
      })
  } else if (isJsonObject(value)) {
    const valueSchema = valueSchemaOf(schema)
    const old = isJsonObject(previous) ? previous : {}
    for (const key of Object.keys(value)) {
      const property = getOwn(schema.properties, key)
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
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(previous) || !isJsonObject(item))
    return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return previous.find((o) => isJsonObject(o) && keys.every((k) => jsonEqual(o[k], item[k])))
}

/** What may still be spent on one object; nothing is checked once it is used up. */
export interface Budget {
  left: number
}

type Names = (name: string) => CelValue | undefined

const variablesOf = ({ rule, isTransition }: CompiledRule, place: Place): Names => {
  const { value, previous, schema, isRoot } = place
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true
  const self = celValue(value, schema, isResource)
  const old = previous === undefined ? undefined : celValue(previous, schema, isResource)
  const optional = old === undefined ? Optional.none : Optional.of(old)
  const oldSelf = rule.optionalOldSelf === true ? optional : old
  return (name) =>
    name === 'self' ? self : isTransition && name === 'oldSelf' ? oldSelf : undefined
}

const wrong = ({ path, schema }: Place, why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: path === '' ? '<nil>' : path,
  body: `Invalid value: ${JSON.stringify(schema.type ?? '')}: ${why}`,
})

/** The rule as messages show it. */
const shownRule = ({ rule, message }: ValidationRule): string =>
  message ? message.trim() : rule.trim()

const evaluate = (compiled: CompiledRule, place: Place, budget: Budget): FieldError[] => {
  const { rule, isTransition } = compiled
  if (isTransition && place.previous === undefined && rule.optionalOldSelf !== true) return []
  if (budget.left < 0) return []
  const variables = variablesOf(compiled, place)
  try {
    const { value, cost } = compiled.evaluate(variables, limits.celCallCostMax)
    budget.left -= cost
    if (budget.left < 0)
      return [
        wrong(
          place,
          'validation failed due to running out of cost budget, no further validation rules will be run',
        ),
      ]
    return value === true ? [] : [failed(compiled, place, variables)]
  } catch (error) {
    if (error instanceof CostExceeded) {
      budget.left = -1
      const why = `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shownRule(rule)}`
      return [wrong(place, why)]
    }
    if (!(error instanceof CelError)) throw error
    return [wrong(place, evaluationProblem(error, rule))]
  }
}

const evaluationProblem = ({ message }: CelError, rule: ValidationRule): string =>
  message.startsWith('no such overload')
    ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${shownRule(rule)}`
    : `${message} evaluating rule: ${shownRule(rule)}`

const messageOf = ({ rule, message }: CompiledRule, variables: Names): string => {
  if (message !== undefined) {
    try {
      const { value } = message(variables, limits.celCallCostMax)
      const text = typeof value === 'string' ? value.trim() : ''
      const isShort = Buffer.byteLength(text) <= limits.celMessageBytesMax
      if (text !== '' && isShort && !/[\n\r]/.test(text)) return text
    } catch (error) {
      // Upstream falls back to the fixed message as well.
      if (!(error instanceof CelError || error instanceof CostExceeded)) throw error
    }
  }
  return rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
}

const failed = (compiled: CompiledRule, place: Place, variables: Names): FieldError => {
  const text = messageOf(compiled, variables)
  const { fieldPath, reason = 'FieldValueInvalid' } = compiled.rule
  const field = `${place.path}${fieldPath ?? ''}`.replace(/^\./, '')
  const isScalar = !Array.isArray(place.value) && !isJsonObject(place.value)
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
