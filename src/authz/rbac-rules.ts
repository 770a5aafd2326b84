/** The arithmetic of RBAC rules. Upstream: pkg/apis/rbac/v1/evaluation_helpers.go, component-helpers/auth/rbac/validation. */

import { matchesPath } from '#api/path-pattern.js'
import { serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import { goQuoteList } from '#go/quote.js'
import { limits } from '#limits'
import type { Attributes } from './authorizer.js'

export interface PolicyRule {
  readonly verbs?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

export interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

const none: readonly string[] = []
const hasOrAll = (list: readonly string[] = none, wanted: string): boolean =>
  list.includes('*') || list.includes(wanted)

/** `*` is every resource, `x/scale` with a star for x that subresource of every resource. */
const resourceMatches = (rule: PolicyRule, resource: string, subresource: string): boolean =>
  (rule.resources ?? none).some(
    (listed) =>
      listed === '*' ||
      listed === resource ||
      (subresource !== '' && listed === `*/${subresource}`),
  )

export const ruleAllows = (a: Attributes, rule: PolicyRule): boolean => {
  if (!hasOrAll(rule.verbs, a.verb)) return false
  if (!a.isResourceRequest)
    return (rule.nonResourceURLs ?? none).some((p) => matchesPath(p, a.path))
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`
  const names = rule.resourceNames ?? none
  return (
    hasOrAll(rule.apiGroups, a.apiGroup) &&
    resourceMatches(rule, resource, a.subresource) &&
    (names.length === 0 || names.includes(a.name))
  )
}

/** `namespace` is the binding's, and that of a ServiceAccount without one. */
export const subjectApplies = (user: UserInfo, subject: Subject, namespace: string): boolean => {
  if (subject.kind === 'User') return user.name === subject.name
  if (subject.kind === 'Group') return user.groups.includes(subject.name)
  if (subject.kind !== 'ServiceAccount') return false
  const home = subject.namespace || namespace
  return home !== '' && user.name === serviceAccountUsername(home, subject.name)
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}` */
export const describeRule = (rule: PolicyRule): string => {
  const parts = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ] as const
  const shown = parts.filter(([, list]) => (list ?? none).length > 0)
  return `{${shown.map(([name, list]) => `${name}:${goQuoteList(list!)}`).join(', ')}}`
}

/** How many rules that say one thing each are in it. */
const countOf = ({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: PolicyRule) => {
  const lengthOf = (list: readonly string[] = none): number => list.length
  const names = Math.max(1, lengthOf(resourceNames))
  const objects = lengthOf(apiGroups) * lengthOf(resources) * names
  return (objects + lengthOf(nonResourceURLs)) * lengthOf(verbs)
}

/**
 * Upstream breaks down all rules, and runs out of memory where a short one has a few hundred groups, resources and verbs.
 * Here those for which there is no room left stay as they are, and are covered only by a rule that covers all of them.
 */
const breakDownAll = (rules: readonly PolicyRule[]): PolicyRule[] => {
  let room: number = limits.brokenDownRulesMax
  return rules.flatMap((rule) => {
    const count = countOf(rule)
    if (count > room) return [rule]
    room -= count
    return breakDown(rule)
  })
}

/** Rules that say one thing each. */
const breakDown = (rule: PolicyRule): PolicyRule[] => {
  const single: PolicyRule[] = []
  for (const group of rule.apiGroups ?? none)
    for (const resource of rule.resources ?? none)
      for (const verb of rule.verbs ?? none) {
        const one = { apiGroups: [group], resources: [resource], verbs: [verb] }
        const names = rule.resourceNames ?? none
        if (names.length === 0) single.push(one)
        else for (const name of names) single.push({ ...one, resourceNames: [name] })
      }
  for (const url of rule.nonResourceURLs ?? none)
    for (const verb of rule.verbs ?? none) single.push({ nonResourceURLs: [url], verbs: [verb] })
  return single
}

const all = (owned: readonly string[] = none, wanted: readonly string[] = none): boolean =>
  owned.includes('*') || wanted.every((item) => owned.includes(item))

const resourcesCovered = (owned: readonly string[] = none, wanted: readonly string[] = none) =>
  owned.includes('*') ||
  wanted.every((resource) => {
    const slash = resource.indexOf('/')
    return owned.includes(resource) || (slash >= 0 && owned.includes(`*${resource.slice(slash)}`))
  })

const covers = (owned: PolicyRule, wanted: PolicyRule): boolean => {
  const names = owned.resourceNames ?? none
  const wantedNames = wanted.resourceNames ?? none
  const namesCovered =
    names.length === 0 ||
    (wantedNames.length > 0 && wantedNames.every((name) => names.includes(name)))
  const urls = owned.nonResourceURLs ?? none
  return (
    all(owned.verbs, wanted.verbs) &&
    all(owned.apiGroups, wanted.apiGroups) &&
    resourcesCovered(owned.resources, wanted.resources) &&
    namesCovered &&
    (wanted.nonResourceURLs ?? none).every((url) => urls.some((p) => matchesPath(p, url)))
  )
}

/** Joins verbs for the same resource into one rule, and as upstream not those for a path; duplicates stay. */
const compact = (rules: readonly PolicyRule[]): PolicyRule[] => {
  const merged = new Map<string, PolicyRule>()
  const ofPaths: PolicyRule[] = []
  for (const rule of rules) {
    const { verbs = none, ...rest } = rule
    const key = JSON.stringify(rest)
    const known = merged.get(key)
    if (rule.nonResourceURLs !== undefined) ofPaths.push(rule)
    else merged.set(key, { ...rest, verbs: [...(known?.verbs ?? none), ...verbs] })
  }
  return [...merged.values(), ...ofPaths]
}

/** The parts of `wanted` that no rule of `owned` covers, each of one verb for one resource. */
export const uncoveredRules = (
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] => breakDownAll(wanted).filter((one) => !owned.some((rule) => covers(rule, one)))

/** The same, with verbs joined. */
export const missingRules = (
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] => compact(uncoveredRules(owned, wanted))
