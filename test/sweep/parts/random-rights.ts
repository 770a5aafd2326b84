/** Roles with random rules, and who has them. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import { namespace } from '../sweep.js'

export const rbac = '/apis/rbac.authorization.k8s.io/v1'
export const within = (base: string, name = namespace): string => `${base}/namespaces/${name}`
export const account = 'sweeper'
export const names = ['a', 'b', 'user-0', account]
const apiGroup = 'rbac.authorization.k8s.io'

const verbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*'],
  ...['bind', 'escalate', 'impersonate', 'use'],
]
const groups = ['', 'apps', apiGroup, '*', 'authorization.k8s.io', 'authentication.k8s.io', 'batch']
const resources = [
  ...['pods', 'configmaps', 'secrets', 'serviceaccounts', 'deployments', 'roles', 'rolebindings'],
  ...['clusterroles', 'clusterrolebindings', '*', 'namespaces', 'nodes', 'users', 'groups'],
  ...['pods/status', 'pods/log', 'pods/eviction', '*/scale', 'deployments/scale', 'pods/*'],
  ...['serviceaccounts/token', 'localsubjectaccessreviews', 'userextras/scopes', 'uids', 'jobs'],
]
export const urls = ['/healthz', '/healthz/*', '*', '/version', '/metrics', '/api', '/readyz/*']

type Rule = Readonly<Record<string, readonly string[]>>

const few = 4
const someOf = <T>({ some, pick }: Dice, list: readonly T[]): T[] => {
  const chosen = some(list).slice(0, few)
  return chosen.length > 0 ? chosen : [pick(list)]
}

const ruleOf = (dice: Dice): Rule =>
  given({
    verbs: someOf(dice, verbs),
    apiGroups: someOf(dice, groups),
    resources: someOf(dice, resources),
    resourceNames: dice.maybe(() => someOf(dice, names), 3),
  }) as Rule

const ruleOfUrls = (dice: Dice): Rule => ({
  verbs: someOf(dice, ['get', 'post', 'put', 'delete', '*']),
  nonResourceURLs: someOf(dice, urls),
})

interface RoleKind {
  readonly kind: string
  readonly collection: string
}
export const clusterRole: RoleKind = { kind: 'ClusterRole', collection: `${rbac}/clusterroles` }
export const role: RoleKind = { kind: 'Role', collection: `${within(rbac)}/roles` }

export const rulesOf = (dice: Dice, { kind }: RoleKind): Rule[] =>
  Array.from({ length: 1 + dice.below(3) }, () =>
    kind === 'ClusterRole' && dice.oneIn(5) ? ruleOfUrls(dice) : ruleOf(dice),
  )

export const subjectsOf = ({ some }: Dice): object[] =>
  some<object>([
    { kind: 'User', apiGroup, name: 'user-0' },
    { kind: 'User', apiGroup, name: 'user-1' },
    { kind: 'Group', apiGroup, name: 'sweepers' },
    { kind: 'ServiceAccount', namespace, name: account },
    { kind: 'Group', apiGroup, name: 'system:serviceaccounts' },
    { kind: 'Group', apiGroup, name: `system:serviceaccounts:${namespace}` },
  ])

export const userSubject = (name: string): object => ({ kind: 'User', apiGroup, name })
export const roleRefOf = ({ kind }: RoleKind, name: string): object => ({ apiGroup, kind, name })

const clusterRoleBindings = `${rbac}/clusterrolebindings`
const roleBindings = `${within(rbac)}/rolebindings`

/** Where a binding to such a role may be. */
export const bindingsOf = ({ kind }: RoleKind, { oneIn }: Dice): string =>
  kind === 'ClusterRole' && oneIn(2) ? clusterRoleBindings : roleBindings

const served: Readonly<Record<string, string>> = {
  ...{ pods: '/api/v1', configmaps: '/api/v1', secrets: '/api/v1', serviceaccounts: '/api/v1' },
  ...{ deployments: '/apis/apps/v1', jobs: '/apis/batch/v1', roles: rbac, rolebindings: rbac },
}
const clusterWide: Readonly<Record<string, string>> = {
  ...{ namespaces: '/api/v1', nodes: '/api/v1', clusterroles: rbac, clusterrolebindings: rbac },
}

/** A collection that rules may be about. */
export const collectionOf = ({ pick, oneIn }: Dice): string => {
  if (oneIn(4)) {
    const [resource, base] = pick(Object.entries(clusterWide))
    return `${base}/${resource}`
  }
  const [resource, base] = pick(Object.entries(served))
  return `${oneIn(4) ? base : within(base, pick([namespace, 'default']))}/${resource}`
}
