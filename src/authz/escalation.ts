/**
 * Nobody may give away more than they hold: the check of roles that are written and of bindings that are made
 * (pkg/registry/rbac, policybased storage). `escalate` on roles and `bind` on a role lift it.
 */
import { ApiError, forbidden, notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import type { Authorizer } from './authorizer.js'
import type { RbacAuthorizer, RoleRef } from './rbac.js'
import { describeRule, missingRules, type PolicyRule, quoted } from './rbac-rules.js'

const group = 'rbac.authorization.k8s.io'

export interface EscalationDeps {
  readonly rbac: RbacAuthorizer
  readonly authorizer: Authorizer
}

export interface RoleWrite {
  readonly user: UserInfo
  /** Empty for cluster roles and their bindings. */
  readonly namespace: string
  readonly resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings'
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
}

const allows = async (
  { authorizer }: EscalationDeps,
  user: UserInfo,
  verb: string,
  what: { resource: string; namespace: string; name: string },
): Promise<boolean> => {
  const { decision } = await authorizer.authorize({
    user,
    verb,
    isResourceRequest: true,
    path: '',
    apiGroup: group,
    apiVersion: 'v1',
    subresource: '',
    ...what,
  })
  return decision === 'allow'
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
    `user ${JSON.stringify(user.name)} (groups=${quoted(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${list}`,
  )
}

const isPrivileged = (user: UserInfo): boolean => user.groups.includes('system:masters')

const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a ?? []) === JSON.stringify(b ?? [])

export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

const aggregates = (role: KubeObject | undefined): boolean =>
  (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0

/** Throws forbidden. Rules that do not change need no rights. */
export const checkRole = async (deps: EscalationDeps, write: RoleWrite): Promise<void> => {
  const { user, namespace, resource, object, previous } = write
  if (isPrivileged(user)) return
  const sameRules = previous !== undefined && same(object.rules, previous.rules)
  if (sameRules && same(object.aggregationRule, previous?.aggregationRule)) return
  const name = object.metadata.name ?? ''
  if (await allows(deps, user, 'escalate', { resource, namespace, name })) return
  await confirm(deps, write, (object.rules ?? []) as PolicyRule[])
  if (!aggregates(object) && !aggregates(previous)) return
  // Who aggregates may get any rule there is or will be.
  const { rules } = await deps.rbac.rulesFor(user, namespace)
  if (missingRules(rules, fullAuthority).length > 0)
    throw forbidden(
      { group, resource },
      name,
      'must have cluster-admin privileges to use the aggregationRule',
    )
}

/** Throws forbidden, or notFound for a role that is missing. */
export const checkBinding = async (deps: EscalationDeps, write: RoleWrite): Promise<void> => {
  const { user, namespace, resource, object, previous } = write
  if (isPrivileged(user)) return
  const unchanged =
    previous !== undefined &&
    same(object.roleRef, previous.roleRef) &&
    same(object.subjects, previous.subjects)
  if (unchanged) return
  const ref = object.roleRef as RoleRef
  const roles = ref.kind === 'Role' ? 'roles' : 'clusterroles'
  if (await allows(deps, user, 'bind', { resource: roles, namespace, name: ref.name })) return
  let rules: readonly PolicyRule[]
  try {
    rules = await deps.rbac.rulesOf(ref, namespace)
  } catch (error) {
    if (error instanceof ApiError && error.code === 404)
      throw notFound({ group, resource }, ref.name)
    throw error
  }
  await confirm(deps, write, rules)
}
