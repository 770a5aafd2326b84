/**
 * Who the metrics server of `kubelevel up` is: the ServiceAccount of upstream's manifest. Its rights are those that it has
 * there, kubelets being read through the API server, and those to what the manifest makes there and ours makes itself.
 */
import type { Client } from '#client/client.js'
import { apiVersionOf, type ResourceRef, resources } from '#client/resources.js'

const name = 'metrics-server'
const namespace = 'kube-system'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const rule = (group: string, of: string, verbs: string, resourceName?: string): Rule => ({
  apiGroups: [group],
  resources: of.split(' '),
  ...(resourceName === undefined ? {} : { resourceNames: [resourceName] }),
  verbs: verbs.split(' '),
})

const group = 'rbac.authorization.k8s.io'
const subjects = [{ kind: 'ServiceAccount', name, namespace }]
const boundTo = (kind: 'Role' | 'ClusterRole', role: string) => ({
  roleRef: { apiGroup: group, kind, name: role },
  subjects,
})

const apiServices = 'apiregistration.k8s.io'
const aggregatedTo = (...roles: string[]): Record<string, string> =>
  Object.fromEntries(roles.map((role) => [`${group}/aggregate-to-${role}`, 'true']))

interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
}

type Made = [ref: ResourceRef, metadata: Metadata, fields: object]

const objects: readonly Made[] = [
  [resources.serviceAccounts, { name, namespace }, {}],
  [
    resources.clusterRoles,
    { name: 'system:metrics-server' },
    {
      rules: [
        rule('', 'nodes/proxy', 'get'),
        rule('', 'nodes pods', 'get list watch'),
        rule(apiServices, 'apiservices', 'create'),
        rule(apiServices, 'apiservices', 'patch delete', 'v1beta1.metrics.k8s.io'),
      ],
    },
  ],
  [
    resources.clusterRoleBindings,
    { name: 'system:metrics-server' },
    boundTo('ClusterRole', 'system:metrics-server'),
  ],
  [
    resources.roles,
    { name, namespace },
    {
      rules: [
        rule('', 'services', 'create'),
        rule('', 'services', 'patch', name),
        rule('discovery.k8s.io', 'endpointslices', 'create'),
        rule('discovery.k8s.io', 'endpointslices', 'patch', name),
      ],
    },
  ],
  [resources.roleBindings, { name, namespace }, boundTo('Role', name)],
  [
    resources.roleBindings,
    { name: 'metrics-server-auth-reader', namespace },
    boundTo('Role', 'extension-apiserver-authentication-reader'),
  ],
  [
    resources.clusterRoles,
    // Whoever may view a namespace may see what its Pods use.
    { name: 'system:aggregated-metrics-reader', labels: aggregatedTo('admin', 'edit', 'view') },
    { rules: [rule('metrics.k8s.io', 'pods nodes', 'get list watch')] },
  ],
]

/** As often as it is started: what was taken away from it comes back. */
export const makeMetricsServerAccount = async (client: Client): Promise<void> => {
  for (const [ref, metadata, fields] of objects)
    await client.patch(
      ref,
      metadata,
      { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata, ...fields },
      { type: 'apply', fieldManager: 'kubelevel-up', force: true },
    )
}
