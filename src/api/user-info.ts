import { isDns1123Label, isDns1123Subdomain } from './names.js'

/** Who asks. Made by an authenticator, replaced by impersonation, read by authorizers, admission and audit. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Members may do everything. */
export const mastersGroup = 'system:masters'
/** Every user but the anonymous one is in it. */
export const authenticatedGroup = 'system:authenticated'
export const unauthenticatedGroup = 'system:unauthenticated'
export const nodesGroup = 'system:nodes'

export const anonymousUser: UserInfo = {
  name: 'system:anonymous',
  groups: [unauthenticatedGroup],
}

export const nodeUserPrefix = 'system:node:'

/**
 * The name of the node that asks, empty if it has none; undefined for a user that is not a node (kubernetes,
 * pkg/auth/nodeidentifier).
 */
export const nodeIdentity = ({ name, groups }: UserInfo): string | undefined =>
  name.startsWith(nodeUserPrefix) && groups.includes(nodesGroup)
    ? name.slice(nodeUserPrefix.length)
    : undefined

const serviceAccountPrefix = 'system:serviceaccount:'

/** `system:serviceaccount:<namespace>:<name>` (apiserver, authentication/serviceaccount/util.go). */
export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${serviceAccountPrefix}${namespace}:${name}`

export const serviceAccountGroups = (namespace: string): string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
]

/** A ServiceAccount that comes with a token of its own. */
export const serviceAccountUser = (namespace: string, name: string): UserInfo => ({
  name: serviceAccountUsername(namespace, name),
  groups: [...serviceAccountGroups(namespace), authenticatedGroup],
})

/** Undefined for a user that is not a ServiceAccount, or whose parts are not valid names. */
export const splitServiceAccountUsername = (
  username: string,
): { namespace: string; name: string } | undefined => {
  if (!username.startsWith(serviceAccountPrefix)) return undefined
  const [namespace, name, ...rest] = username.slice(serviceAccountPrefix.length).split(':')
  const isName =
    rest.length === 0 &&
    isDns1123Label(namespace ?? '').length === 0 &&
    isDns1123Subdomain(name ?? '').length === 0
  return isName ? { namespace: namespace!, name: name! } : undefined
}

/** The extra in which the token of a Pod names the node that the Pod is on. */
const nodeNameExtra = 'authentication.kubernetes.io/node-name'

/** Whether it is a service account, in a Pod on that node, as its token says. On no node (undefined) is nobody. */
export const isServiceAccountOnNode = (
  { name, extra }: UserInfo,
  node: string | undefined,
): boolean =>
  splitServiceAccountUsername(name) !== undefined &&
  extra?.[nodeNameExtra]?.length === 1 &&
  extra[nodeNameExtra][0] === node
