/** Decides by the policy which requests are audited, at which level (apiserver, pkg/audit/policy/checker.go). */
import { matchesPath } from '#api/path-pattern.js'
import type { Attributes } from '#authz/authorizer.js'

export const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
type Level = (typeof levels)[number]

export const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type Stage = (typeof stages)[number]

export interface GroupResources {
  readonly group?: string
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** A rule of audit.k8s.io/v1. Empty lists match everything. */
export interface PolicyRule {
  readonly level: Level
  readonly users?: readonly string[]
  readonly userGroups?: readonly string[]
  readonly verbs?: readonly string[]
  readonly resources?: readonly GroupResources[]
  readonly namespaces?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly omitStages?: readonly Stage[]
  readonly omitManagedFields?: boolean
}

export interface Policy {
  readonly rules: readonly PolicyRule[]
  readonly omitStages?: readonly Stage[]
  readonly omitManagedFields?: boolean
}

/** The verdict of the first matching rule. */
export interface Verdict {
  readonly level: Level
  readonly omitStages: readonly Stage[]
  readonly omitManagedFields: boolean
}

/** The user is unknown if authentication failed. */
export type Asked = Omit<Attributes, 'user'> & { readonly user: Attributes['user'] | undefined }

const isMet = (list: readonly string[] | undefined, value: string): boolean =>
  list === undefined || list.length === 0 || list.includes(value)

const matchesUser = ({ users = [], userGroups = [] }: PolicyRule, { user }: Asked): boolean =>
  (users.length === 0 || (user !== undefined && users.includes(user.name))) &&
  (userGroups.length === 0 || Boolean(user?.groups.some((group) => userGroups.includes(group))))

const isResource = (wanted: string, { resource, subresource }: Asked): boolean =>
  wanted === '*' ||
  wanted === (subresource === '' ? resource : `${resource}/${subresource}`) ||
  (subresource !== '' && wanted === `*/${subresource}`) ||
  wanted === `${resource}/*`

const isAmong = (
  { group = '', resources = [], resourceNames }: GroupResources,
  asked: Asked,
): boolean =>
  (group === '*' || group === asked.apiGroup) &&
  (resources.length === 0 ||
    (isMet(resourceNames, asked.name) && resources.some((wanted) => isResource(wanted, asked))))

const matches = (rule: PolicyRule, asked: Asked): boolean => {
  const { resources = [], namespaces = [], nonResourceURLs = [] } = rule
  if (!matchesUser(rule, asked) || !isMet(rule.verbs, asked.verb)) return false
  if (namespaces.length > 0 || resources.length > 0)
    return (
      asked.isResourceRequest &&
      isMet(namespaces, asked.namespace) &&
      (resources.length === 0 || resources.some((one) => isAmong(one, asked)))
    )
  if (nonResourceURLs.length === 0) return true
  return !asked.isResourceRequest && nonResourceURLs.some((spec) => matchesPath(spec, asked.path))
}

/** Compiles the policy; the result is called once for each request. */
export const verdictsOf = ({
  rules,
  omitStages = [],
  omitManagedFields = false,
}: Policy): ((asked: Asked) => Verdict) => {
  const known = rules.map((rule) => ({
    rule,
    verdict: {
      level: rule.level,
      omitStages: [...omitStages, ...(rule.omitStages ?? [])],
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }))
  const otherwise: Verdict = { level: 'None', omitStages, omitManagedFields }
  return (asked) => known.find(({ rule }) => matches(rule, asked))?.verdict ?? otherwise
}
