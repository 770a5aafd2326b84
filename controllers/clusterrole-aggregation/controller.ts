/** Fills ClusterRoles that are made of others by label; upstream's clusterrole-aggregation-controller. */

import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { PersistedObject } from '#api/object.js'
import { apiVersionOf, resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'

const component = 'clusterrole-aggregation-controller'

interface ClusterRole extends PersistedObject {
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] }
  rules?: JsonValue[] | null
}

/** The rules of all roles that a selector chooses: selector by selector, each by name, nothing twice. */
export const aggregatedRules = (role: ClusterRole, roles: readonly ClusterRole[]): JsonValue[] => {
  const rules: JsonValue[] = []
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const chosen = roles
      .filter((r) => r.metadata.name !== role.metadata.name)
      .filter((r) => matchesSelector(selector, r.metadata.labels))
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    for (const rule of chosen.flatMap((r) => r.rules ?? []))
      if (!rules.some((known) => jsonEqual(known, rule))) rules.push(rule)
  }
  return rules
}

/** Applied: if no role is chosen, rules that somebody else gave stay. The uid keeps a role that is gone from coming back. */
const apply = async (
  { client, informers }: ControllerContext,
  { metadata: { name, uid } }: ClusterRole,
  rules: readonly JsonValue[],
): Promise<void> => {
  const ref = resources.clusterRoles
  const applied = {
    apiVersion: apiVersionOf(ref),
    kind: ref.kind,
    metadata: { name, uid },
    ...(rules.length === 0 ? {} : { rules }),
  }
  const written = await client.patch<ClusterRole>(ref, { name }, applied, {
    type: 'apply',
    fieldManager: component,
    force: true,
  })
  informers.for<ClusterRole>(ref).observe(written)
}

export const clusterRoleAggregationController: Controller = {
  name: component,
  start(context) {
    const { informers } = context
    const roles = informers.for<ClusterRole>(resources.clusterRoles)
    const queue = newQueue(context, 'ClusterRoleAggregator')
    const all = (): void => {
      for (const role of roles.store.list())
        if (role.aggregationRule !== undefined) queue.add(role.metadata.name)
    }
    roles.handle({ onAdd: all, onUpdate: all, onDelete: all })
    return queueRun(context, queue, async (name) => {
      const role = roles.store.get(name)
      if (role?.aggregationRule === undefined) return
      const rules = aggregatedRules(role, roles.store.list())
      if (jsonEqual(role.rules ?? [], rules)) return
      await apply(context, role, rules)
    })
  },
}
