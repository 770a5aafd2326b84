/** Roles and bindings as they are stored. */
import type { Clock } from '#api/clock.js'
import { ApiError, failure, notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { Binding, RoleSource } from '#authz/rbac.js'
import type { PolicyRule } from '#authz/rbac-rules.js'
import { goQuote } from '#go/quote.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { Store } from '#registry/store.js'

export const rbacGroup = 'rbac.authorization.k8s.io'

const bindingOf = ({ metadata, subjects, roleRef }: KubeObject): Binding => ({
  name: metadata.name!,
  namespace: metadata.namespace ?? '',
  subjects: subjects ?? [],
  roleRef,
})

interface RbacSourceDeps {
  readonly storeOf: (resource: string) => Store
  readonly clock: Clock
}

/** Reads from the watch cache, as upstream's authorizer reads from informers. */
export const rbacSource = ({ storeOf, clock }: RbacSourceDeps): RoleSource => {
  const caller = new AbortController()
  const context = (namespace?: string) =>
    internalContext({ now: clock.now(), caller, stores: () => undefined }, namespace)
  const bindings = async (resource: string, namespace: string): Promise<Binding[]> => {
    const page = await listAll(storeOf(resource), namespace, { kind: 'any' })
    return page.items.map(({ object }) => bindingOf(object))
  }
  const resources = ['clusterrolebindings', 'rolebindings', 'clusterroles', 'roles']
  return {
    lastChange: () => {
      let last = 0
      for (const resource of resources) {
        const { lastChange } = storeOf(resource)
        if (lastChange === undefined) return undefined
        last = Math.max(last, lastChange())
      }
      return last
    },
    clusterRoleBindings: () => bindings('clusterrolebindings', ''),
    roleBindings: (namespace) => bindings('rolebindings', namespace),
    rules: async ({ kind, name }, namespace) => {
      if (kind !== 'Role' && kind !== 'ClusterRole')
        throw failure({ code: 500, message: `unsupported role reference kind: ${goQuote(kind)}` })
      const store = storeOf(kind === 'Role' ? 'roles' : 'clusterroles')
      const ctx = context(kind === 'Role' ? namespace : undefined)
      try {
        const { object } = await store.get(ctx, name, { kind: 'any' })
        return (object.rules ?? []) as PolicyRule[]
      } catch (error) {
        // The 404 of upstream's listers names the singular.
        if (error instanceof ApiError && error.code === 404)
          throw notFound({ group: rbacGroup, resource: kind.toLowerCase() }, name)
        throw error
      }
    },
  }
}
