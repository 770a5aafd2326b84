/** What a definition's validation rules must be: present, on one line, compiling, and pointing at real fields. */

import {
  child,
  type FieldError,
  forbidden,
  index,
  internal,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { getOwn, isJsonObject } from '#api/json-object.js'
import { limits } from '#limits'
import { type StructuralSchema, type ValidationRule, valueSchemaOf } from '../structural-schema.js'
import {
  type CompiledRule,
  compileRule,
  placeOf,
  RuleError,
  type RulePlace,
} from './compile-rule.js'

const reasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]

/** The rule as upstream's internal type prints. */
const internalRule = (rule: ValidationRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
})

/** What all rules of a schema may cost together, and which of them cost most. */
class TotalCost {
  total = 0n
  #expensive: { path: string; cost: bigint }[] = []

  add(path: string, cost: bigint): void {
    this.total = capped(this.total + cost)
    if (cost < limits.celDefinitionEstimateMax / 100n) return
    this.#expensive.push({ path, cost })
    this.#expensive.sort((a, b) => (a.cost > b.cost ? -1 : a.cost < b.cost ? 1 : 0))
    this.#expensive.length = Math.min(this.#expensive.length, 4)
  }

  errors(path: string): FieldError[] {
    if (this.total <= limits.celDefinitionEstimateMax) return []
    return [
      ...this.#expensive.map((rule) =>
        forbidden(
          rule.path,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      ),
      forbidden(
        path,
        costMessage(
          'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
          this.total,
          limits.celDefinitionEstimateMax,
        ),
      ),
    ]
  }
}

const uint64Max = 2n ** 64n - 1n
const capped = (value: bigint): bigint => (value > uint64Max ? uint64Max : value)

const costMessage = (what: string, cost: bigint, max: bigint): string => {
  const factor = Number(cost) / Number(max)
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

interface Surroundings {
  readonly isRoot: boolean
  /** How often such a value can stand in one object; undefined: nothing bounds it. */
  readonly cardinality: bigint | undefined
  /** Below this path old and new values cannot be matched. */
  readonly uncorrelatable: string | undefined
  readonly total: TotalCost
}

/** How many values a schema has room for. */
const elementsMax = (schema: StructuralSchema): bigint | undefined => {
  const bound = (max: number | undefined) =>
    max === undefined ? undefined : BigInt(Math.max(max, 0))
  if (schema.type === 'array') return bound(schema.maxItems)
  const isMap = schema.type === 'object' && schema.additionalProperties !== undefined
  return isMap ? bound(schema.maxProperties) : 1n
}

export const validateRules = (schema: StructuralSchema, path: string): FieldError[] => {
  const total = new TotalCost()
  const root = { isRoot: true, cardinality: 1n, uncorrelatable: undefined, total }
  return [...validateAt(schema, path, root), ...total.errors(path)]
}

const validateAt = (schema: StructuralSchema, path: string, around: Surroundings): FieldError[] => {
  const errors: FieldError[] = []
  const most = elementsMax(schema)
  const inner: Surroundings = {
    ...around,
    isRoot: false,
    cardinality:
      around.cardinality === undefined || most === undefined
        ? undefined
        : capped(around.cardinality * most),
  }
  const below = { ...inner, uncorrelatable: around.uncorrelatable ?? path }
  const valueSchema = valueSchemaOf(schema)
  if (valueSchema !== undefined)
    errors.push(...validateAt(valueSchema, child(path, 'additionalProperties'), inner))
  const ofProperties = schema['x-kubernetes-map-type'] === 'atomic' ? below : inner
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...validateAt(property, index(child(path, 'properties'), key), ofProperties))
  if (isJsonObject(schema.items)) {
    const ofItems = schema['x-kubernetes-list-type'] === 'map' ? inner : below
    errors.push(...validateAt(schema.items as StructuralSchema, child(path, 'items'), ofItems))
  }
  return [...errors, ...validateHere(schema, child(path, 'x-kubernetes-validations'), around)]
}

const validateHere = (
  schema: StructuralSchema,
  path: string,
  around: Surroundings,
): FieldError[] => {
  const rules = schema['x-kubernetes-validations'] ?? []
  const errors = rules.flatMap((rule, i) => validateWords(rule, schema, index(path, i)))
  if (errors.length > 0 || rules.length === 0) return errors
  const place = placeOf(schema, around.isRoot)
  if (place === undefined)
    return [
      internal(
        path,
        'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
      ),
    ]
  return rules.flatMap((rule, i) => validateRule(rule, place, index(path, i), around))
}

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text)

/** What is wrong with a rule before its expression is looked at. */
const validateWords = (
  rule: ValidationRule,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  const at = (part: string) => child(path, part)
  if ((rule.rule ?? '').trim() === '') return [required(at('rule'), 'rule is not specified')]
  if (rule.message !== undefined && rule.message.trim() === '' && rule.message !== '')
    errors.push(invalid(at('message'), rule.message, 'message must be non-empty if specified'))
  else if (hasLineBreak((rule.message ?? '').trim()))
    errors.push(invalid(at('message'), rule.message, 'must not contain line breaks'))
  else if (hasLineBreak(rule.rule.trim()) && !rule.message)
    errors.push(required(at('message'), 'message must be specified if rule contains line breaks'))
  if (rule.reason !== undefined && !reasons.includes(rule.reason))
    errors.push(notSupported(at('reason'), rule.reason, reasons))
  if (rule.fieldPath && !leadsToField(schema, rule.fieldPath))
    errors.push(invalid(at('fieldPath'), rule.fieldPath, 'must be a valid path'))
  return errors
}

const validateRule = (
  rule: ValidationRule,
  place: RulePlace,
  path: string,
  around: Surroundings,
): FieldError[] => {
  const at = (part: string) => child(path, part)
  let compiled: CompiledRule
  try {
    compiled = compileRule(rule, place)
  } catch (err) {
    if (!(err instanceof RuleError)) throw err
    return [invalid(at('rule'), internalRule(rule), err.message)]
  }
  const { messageError, isTransition } = compiled
  const errors = costErrors(compiled, place, at, around)
  if (messageError !== undefined)
    errors.push(invalid(at('messageExpression'), internalRule(rule), messageError))
  if (isTransition && around.uncorrelatable !== undefined)
    errors.push(
      invalid(
        at('rule'),
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${around.uncorrelatable}`,
      ),
    )
  if (!isTransition && rule.optionalOldSelf !== undefined)
    errors.push(
      invalid(
        at('optionalOldSelf'),
        rule.optionalOldSelf,
        'may not be set if oldSelf is not used in rule',
      ),
    )
  return errors
}

const costErrors = (
  { costMax, message, messageCostMax }: CompiledRule,
  { cardinalityMax }: RulePlace,
  at: (part: string) => string,
  { cardinality, total }: Surroundings,
): FieldError[] => {
  const errors: FieldError[] = []
  const note = (part: string, what: string, cost: bigint): void => {
    if (cost > limits.celRuleEstimateMax)
      errors.push(forbidden(at(part), costMessage(what, cost, limits.celRuleEstimateMax)))
    total.add(at(part), cost)
  }
  note('rule', 'estimated rule cost', capped(costMax * (cardinality ?? cardinalityMax)))
  if (message !== undefined)
    note('messageExpression', 'estimated messageExpression cost', messageCostMax)
  return errors
}

/** True when `.a.b['c']` names a property of the schema. */
const leadsToField = (schema: StructuralSchema, path: string): boolean => {
  const names = [...path.matchAll(/\.([^.[\]]+)|\['((?:\\.|[^'\\])+)'\]/g)].map(
    (m) => m[1] ?? m[2]!,
  )
  if (names.length === 0) return false
  let at: StructuralSchema | undefined = schema
  for (const name of names) at = at && (getOwn(at.properties, name) ?? valueSchemaOf(at))
  return at !== undefined
}
