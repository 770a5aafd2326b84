/** Where pods may run: node selectors, affinities, spread (kubernetes, core/validation). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import {
  validDnsLabel,
  validDnsSubdomain,
  validLabelValue,
  validQualifiedName,
} from '../formats.js'
import { notOperator, operatorErrors, validLabelSelector } from '../label-selector.js'
import { late } from '../late-rules.js'

/** Those of labels, and two that compare numbers. */
const valuesErrors = (path: string, operator: string, values: string[]): FieldError[] => {
  if (operator !== 'Gt' && operator !== 'Lt') return operatorErrors(path, { operator, values })
  return values.length === 1
    ? []
    : [
        required(
          child(path, 'values'),
          "must be specified single value when `operator` is 'Lt' or 'Gt'",
        ),
      ]
}

const nodeRequirement =
  (checkValues: boolean) =>
  ({ key = '', operator = '', values = [] }: Fields, path: string): FieldError[] => [
    ...valuesErrors(path, operator, values),
    ...validQualifiedName(child(path, 'key'), key),
    ...(checkValues
      ? each(child(path, 'values'), values as string[], (value, at) =>
          late('label values of node affinity', validLabelValue(at, value)),
        )
      : []),
  ]

const fieldRequirement = (
  { key = '', operator = '', values = [] }: Fields,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(invalid(child(path, 'operator'), operator, notOperator))
  else if (values.length !== 1)
    errors.push(
      required(
        child(path, 'values'),
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    )
  if (key !== 'metadata.name')
    return [...errors, invalid(child(path, 'key'), key, 'not a valid field selector key')]
  return [
    ...errors,
    ...each(child(path, 'values'), values as string[], (value, at) => validDnsSubdomain(at, value)),
  ]
}

const nodeTerm =
  (checkValues: boolean) =>
  (term: Fields, path: string): FieldError[] => [
    ...each(child(path, 'matchExpressions'), term.matchExpressions, nodeRequirement(checkValues)),
    ...each(child(path, 'matchFields'), term.matchFields, fieldRequirement),
  ]

export const validNodeSelector = (path: string, selector: Fields): FieldError[] => {
  const at = child(path, 'nodeSelectorTerms')
  const terms = selector.nodeSelectorTerms as Fields[] | null
  return terms === null || terms.length === 0
    ? [required(at, 'must have at least one node selector term')]
    : each(at, terms, nodeTerm(true))
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution'
const soft = 'preferredDuringSchedulingIgnoredDuringExecution'

const weightErrors = (path: string, weight: number): FieldError[] =>
  weight > 0 && weight <= 100
    ? []
    : [invalid(child(path, 'weight'), weight, 'must be in the range 1-100')]

const nodeAffinity = (path: string, affinity: Fields): FieldError[] => [
  ...(affinity[hard] ? validNodeSelector(child(path, hard), affinity[hard]) : []),
  ...each(child(path, soft), affinity[soft] as Fields[] | undefined, (term, at) => [
    ...weightErrors(at, term.weight),
    ...nodeTerm(false)(term.preference, child(at, 'preference')),
  ]),
]

const topologyKeyErrors = (path: string, key: string): FieldError[] =>
  key === '' ? [required(path, 'can not be empty')] : []

/** Without a selector that the keys could be added to, nothing else is reported of them. */
const labelKeyErrors = (
  path: string,
  keys: readonly string[],
  selector: Fields | undefined,
): FieldError[] => {
  if (keys.length === 0) return []
  return selector === undefined
    ? [forbidden(path, 'must not be specified when labelSelector is not set')]
    : each(path, keys, (key, at) => validQualifiedName(at, key))
}

/** The keys that a selector names in an expression after it named them already; creation adds an expression for each match key. */
const repeatedKeys = ({ matchLabels = {}, matchExpressions = [] }: Fields): string[] => {
  const seen = new Set(Object.keys(matchLabels))
  return (matchExpressions as Fields[]).flatMap(({ key = '' }) => {
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated ? [key] : []
  })
}

const labelKeysErrors = (path: string, term: Fields): FieldError[] => {
  const matchKeys: string[] = term.matchLabelKeys ?? []
  const mismatchKeys: string[] = term.mismatchLabelKeys ?? []
  const { labelSelector } = term
  const matchPath = child(path, 'matchLabelKeys')
  const lastAt = new Map(matchKeys.map((key, i) => [key, i]))
  const mismatched = new Set(mismatchKeys)
  return [
    ...labelKeyErrors(matchPath, matchKeys, labelSelector),
    ...labelKeyErrors(child(path, 'mismatchLabelKeys'), mismatchKeys, labelSelector),
    ...repeatedKeys(labelSelector ?? {})
      .filter((key) => lastAt.has(key))
      .map((key) =>
        invalid(
          index(path, lastAt.get(key)!),
          key,
          'exists in both matchLabelKeys and labelSelector',
        ),
      ),
    ...each(matchPath, matchKeys, (key, at) =>
      mismatched.has(key)
        ? [invalid(at, key, 'exists in both matchLabelKeys and mismatchLabelKeys')]
        : [],
    ),
  ]
}

const podTermSelector = (path: string, selector: Fields | undefined): FieldError[] =>
  validLabelSelector(path, selector).flatMap((error) =>
    error.field.endsWith(']') ? late('label values of affinity', [error]) : [error],
  )

const podTerm = (term: Fields, path: string): FieldError[] => {
  const { topologyKey = '', namespaces, namespaceSelector } = term
  const at = child(path, 'topologyKey')
  return [
    ...podTermSelector(child(path, 'labelSelector'), term.labelSelector),
    ...podTermSelector(child(path, 'namespaceSelector'), namespaceSelector),
    ...((namespaces ?? []) as string[]).flatMap((name) =>
      validDnsLabel(child(path, 'namespace'), name),
    ),
    ...labelKeysErrors(path, term),
    ...topologyKeyErrors(at, topologyKey),
    ...validQualifiedName(at, topologyKey),
  ]
}

const podAffinity = (path: string, affinity: Fields): FieldError[] => [
  ...each(child(path, hard), affinity[hard] as Fields[] | undefined, podTerm),
  ...each(child(path, soft), affinity[soft] as Fields[] | undefined, (term, at) => [
    ...weightErrors(at, term.weight),
    ...podTerm(term.podAffinityTerm, child(at, 'podAffinityTerm')),
  ]),
]

export const validAffinity = (path: string, affinity: Fields | undefined): FieldError[] => [
  ...(affinity?.nodeAffinity
    ? nodeAffinity(child(path, 'nodeAffinity'), affinity.nodeAffinity)
    : []),
  ...(affinity?.podAffinity ? podAffinity(child(path, 'podAffinity'), affinity.podAffinity) : []),
  ...(affinity?.podAntiAffinity
    ? podAffinity(child(path, 'podAntiAffinity'), affinity.podAntiAffinity)
    : []),
]

const actions = ['DoNotSchedule', 'ScheduleAnyway']
const policies = ['Honor', 'Ignore']
const notPositive = 'must be greater than zero'

const minDomainsErrors = (path: string, constraint: Fields): FieldError[] => {
  const { minDomains, whenUnsatisfiable } = constraint
  if (minDomains === undefined) return []
  const errors = minDomains > 0 ? [] : [invalid(path, minDomains, notPositive)]
  if (whenUnsatisfiable !== 'DoNotSchedule')
    errors.push(
      invalid(
        path,
        minDomains,
        `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
      ),
    )
  return errors
}

export const validTopologySpread = (
  path: string,
  constraints: Fields[] | undefined,
): FieldError[] => {
  const pairOf = ({ topologyKey = '', whenUnsatisfiable = '' }: Fields): string =>
    JSON.stringify([topologyKey, whenUnsatisfiable])
  const lastAt = new Map((constraints ?? []).map((constraint, i) => [pairOf(constraint), i]))
  return each(path, constraints, (constraint, at, i) => {
    const { maxSkew, topologyKey = '', whenUnsatisfiable = '' } = constraint
    const keyAt = child(at, 'topologyKey')
    const errors = maxSkew > 0 ? [] : [invalid(child(at, 'maxSkew'), maxSkew, notPositive)]
    errors.push(...topologyKeyErrors(keyAt, topologyKey))
    if (!actions.includes(whenUnsatisfiable))
      errors.push(notSupported(child(at, 'whenUnsatisfiable'), whenUnsatisfiable, actions))
    // The first of two is the one that upstream names.
    if (lastAt.get(pairOf(constraint)) !== i)
      errors.push(
        duplicate(
          child(at, '{topologyKey, whenUnsatisfiable}'),
          `{${topologyKey}, ${whenUnsatisfiable}}`,
        ),
      )
    errors.push(...minDomainsErrors(child(at, 'minDomains'), constraint))
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'])
      if (constraint[field] !== undefined && !policies.includes(constraint[field]))
        errors.push(notSupported(child(at, field), constraint[field], policies))
    return [
      ...errors,
      ...labelKeysErrors(at, constraint),
      ...late(
        'selectors of spread',
        validLabelSelector(child(at, 'labelSelector'), constraint.labelSelector),
      ),
    ]
  })
}
