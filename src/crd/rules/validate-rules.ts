/** What a definition's validation rules must be: present, on one line, compiling, and pointing at real fields. */
import { each, eachEntry } from '#api/each.js'
import { child, type FieldError, forbidden, internal, invalid } from '#api/field-error.js'
import { capped } from '#cel/estimate-ranges.js'
import { isDeclared } from '#cel/schema-types.js'
import { pushAll } from '#collections/push-all.js'
import { isJsonObject } from '#json/object.js'
import { limits } from '#limits'
import { type StructuralSchema, type ValidationRule, valueSchemaOf } from '../structural-schema.js'
import {
  type CompiledRule,
  compileRule,
  placeOf,
  RuleError,
  type RulePlace,
} from './compile-rule.js'
import { internalRule } from './internal-rule.js'

/** What all rules of a schema may cost together, and which of them cost most. */
class TotalCost {
  total = 0n
  readonly #expensive: { path: string; cost: bigint }[] = []

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

const costMessage = (what: string, cost: bigint, max: bigint): string => {
  const factor = Number(cost) / Number(max)
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/**
 * What upstream knows of the type of a value where a rule stands there or around it: it is found through that of the value
 * around, so that no rule is compiled below one that has no type (apiextensions, CELSchemaContext.TypeInfo).
 */
type Typing = 'unasked' | 'known' | 'unknown' | 'no elements'

interface Surroundings {
  readonly isRoot: boolean
  readonly typing: Typing
  /** The paths of schemas with errors there or below: their rules are not compiled. */
  readonly broken: ReadonlySet<string>
  /** The schema was accepted before: what a rule costs alone is not asked again. */
  readonly isUnchanged: boolean
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

type Context = Pick<Surroundings, 'broken' | 'isUnchanged'>

export const validateRules = (
  schema: StructuralSchema,
  path: string,
  { broken, isUnchanged }: Context = { broken: new Set(), isUnchanged: false },
): FieldError[] => {
  const total = new TotalCost()
  const root = { isRoot: true, broken, isUnchanged, cardinality: 1n, uncorrelatable: undefined }
  const errors = validateAt(schema, path, { ...root, typing: 'unasked', total })
  return [...errors, ...total.errors(path)]
}

const typingOf = (schema: StructuralSchema, { isRoot, typing }: Surroundings): Typing => {
  if (typing === 'unknown' || typing === 'no elements') return typing
  const hasRules = (schema['x-kubernetes-validations'] ?? []).length > 0
  if (typing === 'unasked' && !hasRules) return 'unasked'
  return isRoot || isDeclared(schema) ? 'known' : 'unknown'
}

/** For items and values of maps; they may stand where there are none. */
const typingOfElements = (schema: StructuralSchema, { isRoot }: Surroundings, own: Typing) => {
  const hasElements =
    schema['x-kubernetes-int-or-string'] !== true &&
    (schema.type === 'array' ||
      (schema.type === 'object' && !isRoot && valueSchemaOf(schema) !== undefined))
  return own === 'known' && !hasElements ? 'no elements' : own
}

const validateAt = (schema: StructuralSchema, path: string, around: Surroundings): FieldError[] => {
  const errors: FieldError[] = []
  const most = elementsMax(schema)
  const typing = typingOf(schema, around)
  const inner: Surroundings = {
    ...around,
    isRoot: false,
    typing,
    cardinality:
      around.cardinality === undefined || most === undefined
        ? undefined
        : capped(around.cardinality * most),
  }
  const below = { ...inner, uncorrelatable: around.uncorrelatable ?? path }
  const mapType = schema['x-kubernetes-map-type']
  const isKnownMap = mapType === undefined || mapType === 'granular' || mapType === 'atomic'
  const ofFields = isKnownMap ? inner : below
  const valueSchema = valueSchemaOf(schema)
  const ofElements = typingOfElements(schema, around, typing)
  if (valueSchema !== undefined) {
    const ofValues = { ...ofFields, typing: ofElements }
    pushAll(errors, validateAt(valueSchema, child(path, 'additionalProperties'), ofValues))
  }
  pushAll(
    errors,
    eachEntry(child(path, 'properties'), schema.properties, (_, property, at) =>
      validateAt(property, at, ofFields),
    ),
  )
  if (isJsonObject(schema.items)) {
    const ofItems = schema['x-kubernetes-list-type'] === 'map' ? inner : below
    const items = { ...ofItems, typing: ofElements }
    pushAll(errors, validateAt(schema.items, child(path, 'items'), items))
  }
  if (around.broken.has(path)) return errors
  return [...errors, ...validateHere(schema, path, { ...around, typing })]
}

const validateHere = (
  schema: StructuralSchema,
  parent: string,
  around: Surroundings,
): FieldError[] => {
  const rules = schema['x-kubernetes-validations'] ?? []
  const path = child(parent, 'x-kubernetes-validations')
  if (rules.length === 0) return []
  if (around.typing === 'no elements')
    return [internal(path, 'failed to convert to declType for CEL validation rules')]
  const place = around.typing === 'known' ? placeOf(schema, around.isRoot) : undefined
  if (place === undefined)
    return [
      internal(
        path,
        'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
      ),
    ]
  return each(path, rules, (rule, at) => validateRule(rule, place, at, around))
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
    const wrong = [invalid(at('rule'), internalRule(rule), err.message)]
    return rule.optionalOldSelf === undefined ? wrong : [...wrong, uselessOption(rule, path)]
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
  if (!isTransition && rule.optionalOldSelf !== undefined) errors.push(uselessOption(rule, path))
  return errors
}

const uselessOption = (rule: ValidationRule, path: string): FieldError =>
  invalid(
    child(path, 'optionalOldSelf'),
    rule.optionalOldSelf,
    'may not be set if oldSelf is not used in rule',
  )

const costErrors = (
  { costMax, message, messageCostMax }: CompiledRule,
  { cardinalityMax }: RulePlace,
  at: (part: string) => string,
  { cardinality, total, isUnchanged }: Surroundings,
): FieldError[] => {
  const errors: FieldError[] = []
  const note = (part: string, what: string, cost: bigint): void => {
    if (!isUnchanged && cost > limits.celRuleEstimateMax)
      errors.push(forbidden(at(part), costMessage(what, cost, limits.celRuleEstimateMax)))
    total.add(at(part), cost)
  }
  note('rule', 'estimated rule cost', capped(costMax * (cardinality ?? cardinalityMax)))
  if (message !== undefined)
    note('messageExpression', 'estimated messageExpression cost', messageCostMax)
  return errors
}
