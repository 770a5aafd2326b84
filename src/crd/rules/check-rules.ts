/** Evaluates the validation rules of a schema on an object: compiled at first use, kept with the definition. */

import {
  child,
  dotted,
  type FieldError,
  type FieldErrorType,
  printValue,
} from '#api/field-error.js'
import { once } from '#async/once.js'
import { CelError, type CelValue, Optional } from '#cel/values.js'
import { CostExceeded } from '#cel/work.js'
import { pushAll } from '#collections/push-all.js'
import { goQuote } from '#go/quote.js'
import { trimSpace } from '#go/trim-space.js'
import { getOwn, isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { type Correlated, oldItemsOf } from '../correlation.js'
import { followFieldPath } from '../field-path.js'
import { type StructuralSchema, type ValidationRule, valueSchemaOf } from '../structural-schema.js'
import { celValue } from './cel-values.js'
import {
  type CompiledRule,
  compileRule,
  placeOf,
  RuleError,
  type RulePlace,
} from './compile-rule.js'

/** The value that an update replaces. */
export interface Before {
  readonly value: JsonValue
  /** Undefined: nothing counts as unchanged. */
  readonly correlated?: Correlated
  /** Called for each rule that does not hold where nothing changed. */
  readonly warn?: (text: string) => void
}

interface RuleChecker {
  /** `path`: where the value stands, in messages. */
  check(value: JsonValue, before: Before | undefined, path?: string): FieldError[]
}

/** Rules are not evaluated on an object that does not meet its schema. */
export const rulesWereNotChecked: FieldError = {
  type: 'FieldValueInvalid',
  field: '<nil>',
  body: 'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
}

const partsOf = (schema: StructuralSchema): StructuralSchema[] => {
  const values = valueSchemaOf(schema)
  return [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(values === undefined ? [] : [values]),
  ]
}

const hasOwnRules = (schema: StructuralSchema): boolean =>
  (schema['x-kubernetes-validations'] ?? []).length > 0

const hasRules = (schema: StructuralSchema): boolean =>
  hasOwnRules(schema) || partsOf(schema).some(hasRules)

/** A rule, or why it does not compile: that is said of a default which it is asked of before the rule itself is looked at. */
type Rule = CompiledRule | string

/** Once for all rules of a place whose values have no type in CEL. */
const noTypeProblem =
  'rule compiler initialization error: failed to convert to declType for CEL validation rules'

const compile = (rule: ValidationRule, place: RulePlace): Rule => {
  try {
    return compileRule(rule, place)
  } catch (error) {
    if (error instanceof RuleError) return `rule compile error: ${error.message}`
    throw error
  }
}

/** Undefined when the schema has no rules. `isRoot`: values are whole objects, not a part of one. */
export const makeRuleChecker = (
  schema: StructuralSchema,
  isRoot = true,
): RuleChecker | undefined => {
  if (!hasRules(schema)) return undefined
  const compiled = new Map<StructuralSchema, Rule[]>()
  const rulesOf = ({ rules, schema: at, isRoot: isWhole, isTyped }: Place): Rule[] => {
    let found = compiled.get(rules)
    if (found === undefined) {
      // One without a text is refused elsewhere, and asks for nothing here.
      const all = rules['x-kubernetes-validations'] ?? []
      const written = all.filter(({ rule = '' }) => trimSpace(rule) !== '')
      const place = written.length === 0 || !isTyped ? undefined : placeOf(at, isWhole)
      if (written.length === 0) found = []
      else if (place === undefined) found = [noTypeProblem]
      else found = written.map((rule) => compile(rule, place))
      compiled.set(rules, found)
    }
    return found
  }
  const inside = new Map<StructuralSchema, boolean>()
  // Those under `allOf` count as well, once there is a rule that stands in no combination.
  const hasRulesInside = (at: StructuralSchema): boolean => {
    let found = inside.get(at)
    if (found === undefined) {
      found = hasOwnRules(at) || [...partsOf(at), ...(at.allOf ?? [])].some(hasRulesInside)
      inside.set(at, found)
    }
    return found
  }
  return {
    check: (value, before, path = '') => {
      const place: Place = {
        ...{ value, previous: before?.value, schema, rules: schema, path, isRoot },
        isTyped: true,
        budget: { left: limits.celObjectCostMax },
        kept: { here: before?.correlated },
        warn: before?.warn,
      }
      return walk(place, { rulesOf, hasRulesInside })
    },
  }
}

/** What is known of a value's past; where it has none, what counts is whether the nearest that has some is unchanged. */
interface Kept {
  readonly here?: Correlated | undefined
  readonly around?: Correlated | undefined
}

const isKept = ({ here, around }: Kept): boolean => (here ?? around)?.isUnchanged === true

const keptKey = (kept: Kept, name: string): Kept => {
  const { here, around } = kept
  if (here === undefined) return kept
  // Of a whole object these are the server's own words.
  if (around === undefined && (name === 'apiVersion' || name === 'kind')) return {}
  return { here: here.key(name), around: here }
}

interface Place {
  value: JsonValue
  previous: JsonValue | undefined
  schema: StructuralSchema
  /** Where the rules stand: in the schema itself, or in a branch of its allOf. */
  rules: StructuralSchema
  path: string
  isRoot: boolean
  /**
   * CEL's types are made from the top down (apiextensions-apiserver, cel.validator). What is not an array has no type for
   * `items`: rules of these are errors, and those of their properties are passed over. Only values that an update keeps
   * get there, since they are not what their schema says.
   */
  isTyped: boolean
  budget: Budget
  kept: Kept
  warn: Before['warn'] | undefined
}

interface Rules {
  rulesOf(place: Place): Rule[]
  hasRulesInside(schema: StructuralSchema): boolean
}

const walk = (place: Place, known: Rules): FieldError[] => {
  const { value, budget } = place
  // Rules about null stand around it.
  if (value === null || budget.left < 0) return []
  const errors = evaluateHere(place, known.rulesOf(place))
  for (const branch of place.rules.allOf ?? []) {
    if (!known.hasRulesInside(branch)) continue
    pushAll(errors, walk({ ...place, rules: branch, kept: { around: place.kept.around } }, known))
  }
  if (Array.isArray(value)) pushAll(errors, walkItems(place, value, known))
  else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) pushAll(errors, walkKey(place, key, known))
  }
  return errors
}

const walkItems = (place: Place, list: JsonValue[], known: Rules): FieldError[] => {
  const { schema, path, previous, kept } = place
  const [items, rules] = [schema.items, place.rules.items]
  if (items === undefined || rules === undefined || !known.hasRulesInside(rules)) return []
  const oldItem = oldItemsOf(previous, schema)
  return list.flatMap((value, i) =>
    walk(
      {
        ...place,
        ...{ value, previous: oldItem(value), schema: items, rules, path: `${path}[${i}]` },
        isRoot: false,
        isTyped: place.isTyped && schema.type === 'array',
        kept: kept.here === undefined ? kept : { here: kept.here.index(i), around: kept.here },
      },
      known,
    ),
  )
}

const walkKey = (place: Place, key: string, known: Rules): FieldError[] => {
  const { schema, path, previous, kept } = place
  const property = getOwn(schema.properties, key)
  const inner = property ?? valueSchemaOf(schema)
  const rules =
    property === undefined ? valueSchemaOf(place.rules) : getOwn(place.rules.properties, key)
  if (inner === undefined || rules === undefined || !known.hasRulesInside(rules)) return []
  if (!place.isTyped && property !== undefined) return []
  const named = dotted(path, key)
  return walk(
    {
      ...place,
      value: (place.value as { [key: string]: JsonValue })[key]!,
      previous: isJsonObject(previous) ? getOwn(previous, key) : undefined,
      ...{ schema: inner, rules, path: property === undefined ? `${path}[${key}]` : named },
      isRoot: false,
      kept: keptKey(kept, key),
    },
    known,
  )
}

/** The cost that is left for one object; nothing is checked once it is used up. */
interface Budget {
  left: number
}

type Names = (name: string) => CelValue | undefined

/** Made when a rule asks for them; that may throw CelError. */
interface Variables {
  readonly self: () => CelValue
  /** Undefined if there was no old value, or no rule here asks for it. */
  readonly oldSelf: (() => CelValue) | undefined
}

const namesOf =
  ({ self, oldSelf }: Variables): Names =>
  (name) =>
    name === 'self' ? self() : name === 'oldSelf' ? oldSelf?.() : undefined

const ranOut =
  'validation failed due to running out of cost budget, no further validation rules will be run'

const evaluateHere = (place: Place, rules: readonly Rule[]): FieldError[] => {
  if (rules.length === 0) return []
  const { value, schema, isRoot, budget } = place
  const previous = place.previous ?? undefined
  if (budget.left <= 0) {
    budget.left = -1
    return [wrong(place, ranOut)]
  }
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true
  const asks =
    previous !== undefined && rules.some((rule) => typeof rule !== 'string' && rule.isTransition)
  const variables: Variables = {
    self: once(() => celValue(value, schema, isResource)),
    oldSelf: asks ? once(() => celValue(previous, schema, isResource)) : undefined,
  }
  return rules.flatMap((rule) => {
    if (budget.left < 0) return []
    return typeof rule === 'string' ? [wrong(place, rule)] : evaluate(rule, place, variables)
  })
}

const wrong = ({ path, schema }: Place, why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: path === '' ? '<nil>' : path,
  body: `Invalid value: ${JSON.stringify(schema.type ?? '')}: ${why}`,
})

/** The rule as messages show it. */
const shownRule = ({ rule, message }: ValidationRule): string =>
  message ? trimSpace(message) : trimSpace(rule)

const evaluate = (compiled: CompiledRule, place: Place, variables: Variables): FieldError[] => {
  const { rule, isTransition } = compiled
  const { budget } = place
  const isOptional = rule.optionalOldSelf === true
  const { oldSelf } = variables
  if (isTransition && oldSelf === undefined && !isOptional) return []
  const optional = () => (oldSelf === undefined ? Optional.none : Optional.of(oldSelf()))
  const names = namesOf(isOptional ? { ...variables, oldSelf: optional } : variables)
  try {
    const { value } = compiled.evaluate(names, limits.celCallCostMax, (cost) => {
      budget.left -= cost
    })
    if (budget.left < 0) return [wrong(place, ranOut)]
    if (value === true) return []
  } catch (error) {
    if (error instanceof CostExceeded) {
      budget.left = -1
      const why = `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shownRule(rule)}`
      return [wrong(place, why)]
    }
    if (!(error instanceof CelError)) throw error
    return [wrong(place, budget.left < 0 ? ranOut : evaluationProblem(error, rule))]
  }
  const error = failed(compiled, place, variables)
  // What does not hold of a value that stays, and asks nothing of its past, is only told of.
  if (isTransition || !isKept(place.kept)) return [error]
  place.warn?.(`${error.field}: ${error.body}`)
  return []
}

const evaluationProblem = ({ message }: CelError, rule: ValidationRule): string =>
  message.startsWith('no such overload')
    ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${shownRule(rule)}`
    : `${message} evaluating rule: ${shownRule(rule)}`

/** A message that costs too much ends the validation. */
class CostlyMessage extends Error {}

/** Undefined if the expression makes no message; then the fixed one is used. */
const madeMessage = (
  { rule, message }: CompiledRule,
  names: Names,
  budget: Budget,
): string | undefined => {
  if (message === undefined) return undefined
  try {
    const { value, cost } = message(names, limits.celCallCostMax)
    if (cost > budget.left)
      throw new CostlyMessage(
        'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      )
    budget.left -= cost
    const text = typeof value === 'string' ? trimSpace(value) : ''
    const isShort = Buffer.byteLength(text) <= limits.celMessageBytesMax
    return text !== '' && isShort && !text.includes('\n') ? text : undefined
  } catch (error) {
    if (error instanceof CostExceeded)
      throw new CostlyMessage(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(rule.messageExpression!)}`,
      )
    if (error instanceof CelError) return undefined
    throw error
  }
}

const failed = (compiled: CompiledRule, place: Place, variables: Variables): FieldError => {
  const { rule } = compiled
  const { schema, budget } = place
  const { fieldPath, reason = '' } = rule
  const field = followFieldPath(schema, fieldPath ?? '')
  const path =
    typeof field === 'string' || field.shown === '' ? place.path : child(place.path, field.shown)
  let text: string
  try {
    // A message knows the old value as such, whatever its rule takes it for.
    text =
      madeMessage(compiled, namesOf(variables), budget) ??
      (rule.message ? trimSpace(rule.message) : `failed rule: ${trimSpace(rule.rule)}`)
  } catch (error) {
    if (!(error instanceof CostlyMessage)) throw error
    budget.left = -1
    return wrong({ ...place, path }, error.message)
  }
  const isWhole = schema.type === 'object' || schema.type === 'array'
  const shown = isWhole ? [] : [printValue(place.value)]
  // A message of nothing but blanks leaves none.
  const words = text === '' ? [] : [text]
  const bodies: Record<string, readonly string[]> = {
    FieldValueForbidden: ['Forbidden', ...words],
    FieldValueRequired: ['Required value', ...words],
    // A duplicate needs no further words.
    FieldValueDuplicate: ['Duplicate value', ...shown],
    FieldValueInvalid: ['Invalid value', ...shown, ...words],
  }
  // A reason that is none is told of by itself (fieldErrorForReason).
  const type = Object.hasOwn(bodies, reason) ? (reason as FieldErrorType) : 'FieldValueInvalid'
  return { type, field: path === '' ? '<nil>' : path, body: bodies[type]!.join(': ') }
}
