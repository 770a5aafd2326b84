/** Rules for the requests that a webhook or a policy wants: their validation and their defaults. */

import type { MatchRule } from '#admission/match-rule.js'
import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  invalidEach,
  oneOf,
  required,
  tooMany,
} from '#api/field-error.js'
import type { LabelSelector } from '#api/label-selector.js'
import { isPathSegmentName } from '#api/names.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { trimSpace } from '#go/trim-space.js'
import { aloneIfWildcard, validQualifiedName } from '#validation/formats.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { expressionErrors } from './expressions.js'

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']
export const failurePolicies = ['Fail', 'Ignore']
export const matchPolicies = ['Equivalent', 'Exact']

const emptyErrors = (path: string, values: string[]): FieldError[] =>
  each(path, values, (value, at) => (value === '' ? [required(at)] : []))

// `pods`, `pods/*`, `*/scale`: a wildcard makes what it covers superfluous.
const resourceErrors = (path: string, resources: string[]): FieldError[] => {
  if (resources.length === 0) return [required(path)]
  const anySubresourceOf = new Set<string>()
  const anyResourceWith = new Set<string>()
  let hasPlain = false
  const errors = each(path, resources, (text, at) => {
    if (text === '') return [required(at)]
    const slash = text.indexOf('/')
    // The last one without a subresource decides, as upstream overwrites what it saw.
    if (slash < 0) hasPlain = text !== '*'
    if (slash < 0) return []
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    const covered = [
      ...(anySubresourceOf.has(resource) ? [`${resource}/*`] : []),
      ...(anyResourceWith.has(subresource) ? [`*/${subresource}`] : []),
    ]
    if (subresource === '*') anySubresourceOf.add(resource)
    if (resource === '*') anyResourceWith.add(subresource)
    return covered.map((wildcard) =>
      invalid(at, text, `if '${wildcard}' is present, must not specify ${text}`),
    )
  })
  const refuse = (why: string) => errors.push(invalid(path, resources, why))
  if (resources.length > 1 && resources.includes('*/*'))
    refuse("if '*/*' is present, must not specify other resources")
  if (resources.includes('*') && hasPlain)
    refuse("if '*' is present, must not specify other resources without subresources")
  return errors
}

export const ruleErrors = (rule: MatchRule, path: string): FieldError[] => {
  const { operations: verbs = [], apiGroups = [], apiVersions = [], resources = [] } = rule
  const at = (field: string): string => child(path, field)
  return [
    ...(verbs.length === 0
      ? [required(at('operations'))]
      : [
          ...aloneIfWildcard(at('operations'), verbs, 'operations'),
          ...each(at('operations'), verbs, (verb, path) => oneOf(path, verb, operations)),
        ]),
    ...(apiGroups.length === 0
      ? [required(at('apiGroups'))]
      : aloneIfWildcard(at('apiGroups'), apiGroups, 'API groups')),
    ...(apiVersions.length === 0
      ? [required(at('apiVersions'))]
      : [
          ...aloneIfWildcard(at('apiVersions'), apiVersions, 'API versions'),
          ...emptyErrors(at('apiVersions'), apiVersions),
        ]),
    ...resourceErrors(at('resources'), resources),
    ...oneOf(at('scope'), rule.scope, scopes),
  ]
}

const namedRuleErrors = (rule: MatchRule, path: string): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return [
    ...each(child(path, 'resourceNames'), rule.resourceNames, (name, at) => [
      ...invalidEach(at, name, isPathSegmentName(name)),
      ...(isRepeated(name) ? [duplicate(at, name)] : []),
    ]),
    ...ruleErrors(rule, path),
  ]
}

export interface MatchResources {
  matchPolicy?: string
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  resourceRules?: MatchRule[]
  excludeResourceRules?: MatchRule[]
}

export const matchResourcesErrors = (match: MatchResources, path: string): FieldError[] => [
  ...oneOf(child(path, 'matchPolicy'), match.matchPolicy, matchPolicies),
  ...validLabelSelector(child(path, 'namespaceSelector'), match.namespaceSelector),
  ...validLabelSelector(child(path, 'objectSelector'), match.objectSelector),
  ...each(child(path, 'resourceRules'), match.resourceRules, namedRuleErrors),
  ...each(child(path, 'excludeResourceRules'), match.excludeResourceRules, namedRuleErrors),
]

const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']

/** A delete has nothing to mutate. */
export const mutatingOperationErrors = (
  { resourceRules }: MatchResources,
  path: string,
): FieldError[] =>
  each(child(path, 'resourceRules'), resourceRules, (rule) =>
    each(child(path, 'resourceRules', 'operations'), rule.operations, (operation) =>
      oneOf(child(path, 'resourceRules', 'operations'), operation, mutatingOperations),
    ),
  )

export const defaultMatch = (match: MatchResources | undefined): void => {
  if (!match) return
  match.matchPolicy ??= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])])
    rule.scope ??= '*'
}

interface MatchCondition {
  name?: string
  expression?: string
}
const matchConditionsMax = 64

/** Names, presence and that the expressions compile to a bool. */
export const matchConditionErrors = (
  conditions: MatchCondition[],
  path: string,
  names: PolicyNames,
): FieldError[] => {
  const count = conditions.length
  const isRepeated = makeRepeatCheck()
  const errors = each(path, conditions, ({ name = '', expression = '' }, at) => {
    const isSecond = isRepeated(name)
    return [
      ...(trimSpace(expression) === '' ? [required(child(at, 'expression'))] : []),
      ...expressionErrors(child(at, 'expression'), trimSpace(expression), names, results.boolean),
      ...(name === ''
        ? [required(child(at, 'name'))]
        : validQualifiedName(child(at, 'name'), name)),
      ...(name !== '' && isSecond ? [duplicate(child(at, 'name'), name)] : []),
    ]
  })
  return count > matchConditionsMax ? [tooMany(path, count, matchConditionsMax), ...errors] : errors
}
