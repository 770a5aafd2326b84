/** What jobs make of pods that fail and of indexes that succeed (kubernetes, batch/validation). */
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { each } from '../each.js'

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const exitOperators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']

/** An invalid value that upstream does not print. */
const invalidUnprinted = (field: string, why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  body: `Invalid value: ${why}`,
})

const exitValues = (path: string, operator: string, values: number[]): FieldError[] => {
  if (values.length === 0) return [invalid(path, values, 'at least one value is required')]
  const seen = new Set<number>()
  const errors = each(path, values, (value, at) => {
    if (operator === 'In' && value === 0)
      return [invalid(at, value, 'must not be 0 for the In operator')]
    if (seen.has(value)) return [duplicate(at, value)]
    seen.add(value)
    return []
  })
  const isOrdered = values.every((value, i) => i === 0 || value > values[i - 1]!)
  return isOrdered ? errors : [...errors, invalid(path, values, 'must be ordered')]
}

const exitCodes = (path: string, rule: Fields, containers: ReadonlySet<string>): FieldError[] => {
  const { operator = '', values, containerName } = rule
  const at = child(path, 'operator')
  return [
    ...(exitOperators.includes(operator)
      ? []
      : [operator === '' ? required(at) : notSupported(at, operator, exitOperators)]),
    ...(containerName !== undefined && !containers.has(containerName)
      ? [
          invalid(
            child(path, 'containerName'),
            containerName,
            'must be one of the container or initContainer names in the pod template',
          ),
        ]
      : []),
    ...exitValues(child(path, 'values'), operator, values ?? []),
  ]
}

const podConditions = (path: string, conditions: Fields[]): FieldError[] =>
  each(path, conditions, ({ type = '', status = '' }, at) => [
    ...isQualifiedName(type).map((message) => invalid(child(at, 'type'), type, message)),
    ...(statuses.includes(status) ? [] : [notSupported(child(at, 'status'), status, statuses)]),
  ])

export const validFailurePolicy = (path: string, spec: Fields): FieldError[] => {
  const { podFailurePolicy, template } = spec
  if (podFailurePolicy === undefined) return []
  const containers = new Set<string>(
    [...(template.spec.containers ?? []), ...(template.spec.initContainers ?? [])].map(
      (container: Fields) => container.name,
    ),
  )
  return each(child(path, 'rules'), podFailurePolicy.rules as Fields[] | null, (rule, at) => {
    const { action = '', onExitCodes, onPodConditions = [] } = rule
    const actionAt = child(at, 'action')
    const errors: FieldError[] = []
    if (action === '') errors.push(required(actionAt))
    else if (!actions.includes(action)) errors.push(notSupported(actionAt, action, actions))
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
}

/** Counts the indexes of `1,3-5`; a text says what is wrong. */
const countIndexes = (text: string, completions: number): number | string => {
  let count = 0
  let last = -1
  for (const part of text.split(',')) {
    const limits = part.split('-')
    if (limits.length > 2)
      return `the fragment "${part}" violates the requirement that an index interval can have at most two parts separated by '-'`
    for (const limit of limits) {
      if (!/^\d+$/.test(limit)) return `cannot convert string to integer for index: "${limit}"`
      if (Number(limit) >= completions) return `too large index: "${limit}"`
    }
    const [from, to = from] = limits.map(Number) as [number, number?]
    if (to < from) return `non-increasing order, previous: ${from}, current: ${to}`
    if (from <= last) return `non-increasing order, previous: ${last}, current: ${from}`
    count += to - from + 1
    last = to
  }
  return count
}

const successRule = (rule: Fields, path: string, completions: number): FieldError[] => {
  const { succeededIndexes, succeededCount } = rule
  if (succeededIndexes === undefined && succeededCount === undefined)
    return [required(path, 'at least one of succeededCount or succeededIndexes must be specified')]
  const errors: FieldError[] = []
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
  if (typeof indexes === 'number' && succeededCount > indexes)
    errors.push(
      invalid(
        at,
        succeededCount,
        `must be less than or equal to ${indexes} (the number of indexes in the specified succeededIndexes field)`,
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
  return each(child(path, 'rules'), rules, (rule, at) =>
    successRule(rule, at, spec.completions ?? 0),
  )
}
