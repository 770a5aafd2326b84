/** What jobs make of pods that fail and of indexes that succeed (kubernetes, batch/validation). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  invalidUnprinted,
  notSupported,
  required,
  tooMany,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validLength, validQualifiedName } from '../formats.js'
import { countIndexes } from './index-intervals.js'

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const exitOperators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']

const rulesMax = 20
const exitCodesMax = 255
const conditionPatternsMax = 20
const succeededIndexesLengthMax = 64 * 1024

/** Upstream prints the list as Go does, without commas. */
const mustBeOneOf = (path: string, value: string, values: readonly string[]): FieldError =>
  value === ''
    ? required(path, `valid values: [${values.map((v) => JSON.stringify(v)).join(' ')}]`)
    : notSupported(path, value, values)

const notTooMany = (path: string, list: readonly unknown[], max: number): FieldError[] =>
  list.length > max ? [tooMany(path, list.length, max)] : []

const exitValues = (path: string, operator: string, given: number[] | null): FieldError[] => {
  const values = given ?? []
  if (values.length === 0) return [invalid(path, given, 'at least one value is required')]
  const many = notTooMany(path, values, exitCodesMax)
  const seen = new Set<number>()
  const errors = each(path, values, (value, at) => {
    if (operator === 'In' && value === 0)
      return [invalid(at, value, 'must not be 0 for the In operator')]
    if (seen.has(value)) return [duplicate(at, value)]
    seen.add(value)
    return []
  })
  const isOrdered = values.every((value, i) => i === 0 || value >= values[i - 1]!)
  return isOrdered
    ? [...many, ...errors]
    : [...many, ...errors, invalid(path, values, 'must be ordered')]
}

const exitCodes = (path: string, rule: Fields, containers: ReadonlySet<string>): FieldError[] => {
  const { operator = '', values, containerName } = rule
  const at = child(path, 'operator')
  return [
    ...(exitOperators.includes(operator) ? [] : [mustBeOneOf(at, operator, exitOperators)]),
    ...(containerName !== undefined && !containers.has(containerName)
      ? [
          invalid(
            child(path, 'containerName'),
            containerName,
            'must be one of the container or initContainer names in the pod template',
          ),
        ]
      : []),
    ...exitValues(child(path, 'values'), operator, values ?? null),
  ]
}

const podConditions = (path: string, conditions: Fields[]): FieldError[] => [
  ...notTooMany(path, conditions, conditionPatternsMax),
  ...each(path, conditions, ({ type = '', status = '' }, at) => [
    ...validQualifiedName(child(at, 'type'), type),
    ...(statuses.includes(status) ? [] : [mustBeOneOf(child(at, 'status'), status, statuses)]),
  ]),
]

export const validFailurePolicy = (path: string, spec: Fields): FieldError[] => {
  const { podFailurePolicy, template } = spec
  if (podFailurePolicy === undefined) return []
  const containers = new Set<string>(
    [...(template.spec.containers ?? []), ...(template.spec.initContainers ?? [])].map(
      (container: Fields) => container.name,
    ),
  )
  const rules: Fields[] = podFailurePolicy.rules ?? []
  const rulesAt = child(path, 'rules')
  const ruleErrors = each(rulesAt, rules, (rule, at) => {
    const { action = '', onExitCodes, onPodConditions = [] } = rule
    const actionAt = child(at, 'action')
    const errors: FieldError[] = []
    if (!actions.includes(action)) errors.push(mustBeOneOf(actionAt, action, actions))
    else if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
      errors.push(invalid(actionAt, action, 'requires the backoffLimitPerIndex to be set'))
    if (onExitCodes) errors.push(...exitCodes(child(at, 'onExitCodes'), onExitCodes, containers))
    errors.push(...podConditions(child(at, 'onPodConditions'), onPodConditions))
    if (onExitCodes && onPodConditions.length > 0)
      errors.push(
        invalidUnprinted(at, 'specifying both OnExitCodes and OnPodConditions is not supported'),
      )
    if (!onExitCodes && onPodConditions.length === 0)
      errors.push(
        invalidUnprinted(at, 'specifying one of OnExitCodes and OnPodConditions is required'),
      )
    return errors
  })
  return [...notTooMany(rulesAt, rules, rulesMax), ...ruleErrors]
}

const successRule = (rule: Fields, path: string, completions: number): FieldError[] => {
  const { succeededIndexes, succeededCount } = rule
  if (succeededIndexes === undefined && succeededCount === undefined)
    return [required(path, 'at least one of succeededCount or succeededIndexes must be specified')]
  const errors = validLength(
    child(path, 'succeededIndexes'),
    succeededIndexes ?? '',
    succeededIndexesLengthMax,
  )
  const indexes =
    succeededIndexes === undefined ? undefined : countIndexes(succeededIndexes, completions)
  if (typeof indexes === 'string')
    errors.push(
      invalid(
        child(path, 'succeededIndexes'),
        succeededIndexes,
        `error parsing succeededIndexes: ${indexes}`,
      ),
    )
  const at = child(path, 'succeededCount')
  if (succeededCount === undefined) return errors
  if (succeededCount < 0)
    errors.push(invalid(at, succeededCount, 'must be greater than or equal to 0'))
  if (succeededCount > completions)
    errors.push(
      invalid(
        at,
        succeededCount,
        `must be less than or equal to ${completions} (the number of specified completions)`,
      ),
    )
  // Indexes that cannot be read count as none.
  const count = typeof indexes === 'string' ? 0 : indexes
  if (count !== undefined && succeededCount > count)
    errors.push(
      invalid(
        at,
        succeededCount,
        `must be less than or equal to ${count} (the number of indexes in the specified succeededIndexes field)`,
      ),
    )
  return errors
}

export const validSuccessPolicy = (path: string, spec: Fields): FieldError[] => {
  const rules = (spec.successPolicy?.rules ?? []) as Fields[]
  if (rules.length === 0)
    return [
      required(
        child(path, 'rules'),
        'at least one rules must be specified when the successPolicy is specified',
      ),
    ]
  const at = child(path, 'rules')
  return [
    ...notTooMany(at, rules, rulesMax),
    ...each(at, rules, (rule, ruleAt) => successRule(rule, ruleAt, spec.completions ?? 0)),
  ]
}
