/**
 * Attribute-based access control: one matching policy of the file allows a request (kubernetes,
 * pkg/auth/authorizer/abac).
 */
import { matchesPath } from '#api/path-pattern.js'
import type { UserInfo } from '#api/user-info.js'
import { type Attributes, allowed, type Decision } from './authorizer.js'
import type { FullAuthorizer } from './full-authorizer.js'
import type { PolicyRule } from './rbac-rules.js'

/** Empty fields match empty attributes. User or group must be given. */
export interface AccessPolicy {
  readonly user: string
  readonly group: string
  readonly readonly: boolean
  readonly apiGroup: string
  readonly resource: string
  readonly namespace: string
  readonly nonResourcePath: string
}

const readingVerbs: readonly string[] = ['get', 'list', 'watch']

const isFor = ({ user, group }: AccessPolicy, { name, groups }: UserInfo): boolean =>
  (user !== '' || group !== '') &&
  (user === '' || user === name) &&
  (group === '' || groups.includes(group))

const fits = (wanted: string, given: string): boolean => wanted === '*' || wanted === given

const matches = (policy: AccessPolicy, attributes: Attributes): boolean => {
  if (!isFor(policy, attributes.user)) return false
  if (policy.readonly && !readingVerbs.includes(attributes.verb)) return false
  return attributes.isResourceRequest
    ? fits(policy.namespace, attributes.namespace) &&
        fits(policy.resource, attributes.resource) &&
        fits(policy.apiGroup, attributes.apiGroup)
    : matchesPath(policy.nonResourcePath, attributes.path)
}

const nothingMatched: Decision = { decision: 'no opinion', reason: 'No policy matched.' }

const rulesOf = (policy: AccessPolicy): PolicyRule[] => {
  const { apiGroup, resource, nonResourcePath } = policy
  const verbs = policy.readonly ? readingVerbs : ['*']
  return [
    ...(resource === '' ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
    ...(nonResourcePath === '' ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ]
}

export const abacAuthorizer = (policies: readonly AccessPolicy[]): FullAuthorizer => ({
  authorize: (attributes) =>
    policies.some((policy) => matches(policy, attributes)) ? allowed : nothingMatched,
  rulesFor: (user, namespace) => ({
    rules: policies
      .filter((policy) => isFor(policy, user) && fits(policy.namespace, namespace))
      .flatMap(rulesOf),
    errors: [],
  }),
})
