/**
 * Prevents escalation: nobody may write roles or bindings with rights that they do not have (pkg/registry/rbac,
 * policybased storage). The verbs `escalate` on roles and `bind` on a role lift this.
 */

import { ApiError, forbidden, notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { mastersGroup, type UserInfo } from '#api/user-info.js'
import { aggregate } from '#go/aggregate.js'
import { goQuote, goQuoteList } from '#go/quote.js'
import { getOwn, semanticEqual } from '#json/object.js'
import type { Authorizer } from './authorizer.js'
import type { RbacAuthorizer, RoleRef } from './rbac.js'
import { describeRule, missingRules, type PolicyRule } from './rbac-rules.js'
import { fullAuthority } from './rule-resolver.js'

const group = 'rbac.authorization.k8s.io'

interface EscalationDeps {
  readonly rbac: RbacAuthorizer
  readonly authorizer: Authorizer
}

export interface RoleWrite {
  readonly user: UserInfo
  /** Empty for cluster roles and their bindings. */
  readonly namespace: string
  /** In the path of the request: a POST has none there, and no right to a name counts for it (upstream's RequestInfo). */
  readonly requestName: string
  readonly resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings'
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
}

const allows = async (
  { authorizer }: EscalationDeps,
  user: UserInfo,
  verb: string,
  what: { apiGroup: string; resource: string; namespace: string; name: string },
): Promise<boolean> => {
  const { decision } = await authorizer.authorize({
    user,
    verb,
    isResourceRequest: true,
    path: '',
    apiVersion: '*',
    subresource: '',
    ...what,
  })
  return decision === 'allow'
}

/** Upstream reads roles through the storage here, whose 404 names the resource of the request. */
const asRequested = (error: unknown, resource: string): unknown =>
  error instanceof ApiError && error.code === 404
    ? notFound({ group, resource }, error.status.details?.name ?? '')
    : error

/** Errors of resolving the user's rules: a missing role may explain missing rights. */
const resolutionErrors = (errors: readonly Error[], resource: string): string => {
  const problem = aggregate(errors.map((error) => (asRequested(error, resource) as Error).message))
  return problem === undefined ? '' : `; resolution errors: [${problem}]`
}

const confirm = async (
  { rbac }: EscalationDeps,
  { user, namespace, resource, object }: RoleWrite,
  wanted: readonly PolicyRule[],
): Promise<void> => {
  const held = await rbac.rulesFor(user, namespace)
  const missing = missingRules(held.rules, wanted)
  if (missing.length === 0) return
  const list = [...new Set(missing.map(describeRule))].sort().join('\n')
  throw forbidden(
    { group, resource },
    object.metadata.name ?? '',
    `user ${goQuote(user.name)} (groups=${goQuoteList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${list}${resolutionErrors(held.errors, resource)}`,
  )
}

const isPrivileged = (user: UserInfo): boolean => user.groups.includes(mastersGroup)

/**
 * Changes of owner references and finalizers need no rights. Everything else does, even a label, by which an aggregated
 * role may take over these rules (upstream's IsOnlyMutatingGCFields).
 */
const changesOwnershipAlone = ({ object, previous }: RoleWrite): boolean => {
  if (previous === undefined) return false
  const { ownerReferences, finalizers, managedFields } = previous.metadata
  const metadata = { ...object.metadata, ownerReferences, finalizers, managedFields }
  return semanticEqual({ ...object, metadata }, previous)
}

const aggregates = (role: KubeObject | undefined): boolean =>
  (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0

/** Throws forbidden. */
export const checkRole = async (deps: EscalationDeps, write: RoleWrite): Promise<void> => {
  const { user, namespace, resource, requestName: name, object, previous } = write
  if (isPrivileged(user) || changesOwnershipAlone(write)) return
  if (await allows(deps, user, 'escalate', { apiGroup: group, resource, namespace, name })) return
  await confirm(deps, write, (object.rules ?? []) as PolicyRule[])
  if (!aggregates(object) && !aggregates(previous)) return
  // An aggregated role may get any rule, now or later.
  const { rules } = await deps.rbac.rulesFor(user, namespace)
  if (missingRules(rules, fullAuthority).length > 0)
    throw forbidden(
      { group, resource },
      object.metadata.name ?? '',
      'must have cluster-admin privileges to use the aggregationRule',
    )
}

const roleResources: Readonly<Record<string, string>> = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
}

const rulesOf = async (
  { rbac }: EscalationDeps,
  ref: RoleRef,
  { namespace, resource }: RoleWrite,
): Promise<readonly PolicyRule[]> => {
  try {
    return await rbac.rulesOf(ref, namespace)
  } catch (error) {
    throw asRequested(error, resource)
  }
}

/** Throws forbidden, or notFound for a role that is missing. */
export const checkBinding = async (deps: EscalationDeps, write: RoleWrite): Promise<void> => {
  const { user, namespace, object } = write
  if (isPrivileged(user) || changesOwnershipAlone(write)) return
  const { apiGroup = '', kind = '', name = '' } = object.roleRef ?? {}
  const resource = getOwn(roleResources, kind)
  const isBound =
    resource !== undefined &&
    (await allows(deps, user, 'bind', { apiGroup, resource, namespace, name }))
  if (!isBound) await confirm(deps, write, await rulesOf(deps, { kind, name }, write))
}
