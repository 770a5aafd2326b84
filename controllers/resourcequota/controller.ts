/** Recounts what ResourceQuotas limit, mostly when things go; upstream's resourcequota-controller. */
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue, NamespacedObject, PersistedObject } from '#api/object.js'
import type { MilliAmounts } from '#client/amount.js'
import { type DiscoveredResource, discover } from '#client/discovery.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { updateStatus } from '../update-object.js'
import { CountedKinds } from './counted-kinds.js'
import {
  claimUsage,
  hasDeadline,
  hasScopes,
  isCharged,
  isInScope,
  podUsage,
  type ResourceQuota,
  serviceUsage,
  sumUsage,
  usedOf,
} from './usage.js'

/** All is counted anew this often, as by upstream's resync: kinds may have come that nobody knew. */
const recountMs = 300_000
/** Old names of counts. */
const plainCounts: Record<string, string> = {
  configmaps: 'configmaps',
  secrets: 'secrets',
  replicationcontrollers: 'replicationcontrollers',
  resourcequotas: 'resourcequotas',
}
const measured = new Set(['pods', 'services', 'persistentvolumeclaims'])

/** `count/deployments.apps` → the resource; undefined for limits that are no counts of that sort. */
const countedResource = (
  name: string,
  discovered: readonly DiscoveredResource[],
): DiscoveredResource | undefined => {
  const counted = name.startsWith('count/') ? name.slice('count/'.length) : plainCounts[name]
  if (counted === undefined || measured.has(counted)) return undefined
  const [resource, ...group] = counted.split('.')
  return discovered.find((r) => r.resource === resource && r.group === group.join('.'))
}

const countOthers = async (
  { client }: ControllerContext,
  kinds: CountedKinds,
  quota: ResourceQuota,
): Promise<MilliAmounts> => {
  const usage: MilliAmounts = new Map()
  const names = Object.keys(quota.spec.hard ?? {}).filter(
    (n) => n.startsWith('count/') || n in plainCounts,
  )
  if (names.length === 0) return usage
  const { resources: discovered, stale } = await discover(client)
  if (stale.length === 0) kinds.keepOnly(discovered)
  for (const name of names) {
    const resource = countedResource(name, discovered)
    if (resource === undefined) continue
    const count = await kinds.countIn(quota.metadata.namespace, resource)
    usage.set(name, BigInt(count) * 1000n)
  }
  return usage
}

const sync = async (
  context: ControllerContext,
  kinds: CountedKinds,
  quota: ResourceQuota,
): Promise<{ afterMs: number } | undefined> => {
  const { informers } = context
  const namespace = quota.metadata.namespace
  const within = <T extends PersistedObject>(ref: ResourceRef): T[] =>
    informers.for<T>(ref).store.byIndex('namespace', namespace)
  const others = hasScopes(quota) ? undefined : await countOthers(context, kinds, quota)
  // After that, which may take long: until the first count is written, admission charges nothing.
  const pods = within<Pod>(resources.pods).filter((pod) => isInScope(quota, pod))
  const now = context.clock.now()
  const usage = sumUsage([
    ...pods.map((pod) => podUsage(pod, now)),
    ...(others === undefined
      ? []
      : [
          ...within(resources.services).map(serviceUsage),
          ...within(resources.persistentVolumeClaims).map(claimUsage),
          others,
        ]),
  ])
  const hard = quota.spec.hard ?? {}
  const status = { hard, used: usedOf(hard, usage) }
  if (!jsonEqual({ ...quota.status }, status))
    await updateStatus(context, resources.resourceQuotas, quota, status)
  return { afterMs: recountMs }
}

const containerResources = ({ status }: Pod): JsonValue =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
    ({ resources = null }) => resources,
  )

/** Whether an update may have made room in a quota: it ended the Pod, gave it another scope, or resized it. */
const mayFree = (next: Pod, previous: Pod, now: number): boolean =>
  (isCharged(previous, now) && !isCharged(next, now)) ||
  hasDeadline(next) !== hasDeadline(previous) ||
  !jsonEqual(containerResources(next), containerResources(previous))

export const resourceQuotaController: Controller = {
  name: 'resourcequota-controller',
  start(context) {
    const { informers } = context
    const quotas = informers.for<ResourceQuota>(resources.resourceQuotas)
    const queue = newQueue()
    const recount = (object: NamespacedObject): void => {
      for (const quota of quotas.store.byIndex('namespace', object.metadata.namespace))
        queue.add(keyOf(quota))
    }
    const hardOf = ({ spec }: ResourceQuota): string => JSON.stringify(spec.hard ?? {})
    quotas.handle({
      onAdd: (quota) => queue.add(keyOf(quota)),
      // Not when admission has charged something: what we have seen may be older, and would make room that is not there.
      onUpdate(next, previous) {
        if (hardOf(next) !== hardOf(previous)) queue.add(keyOf(next))
      },
    })
    const kinds = new CountedKinds(context, recount)
    const pods = informers.for<Pod>(resources.pods)
    pods.handle({
      onDelete: recount,
      onUpdate(next, previous) {
        if (mayFree(next, previous, context.clock.now())) recount(next)
      },
    })
    for (const ref of [resources.services, resources.persistentVolumeClaims])
      informers.for(ref).handle({ onDelete: recount, onUpdate: recount })
    const run = queueRun(
      context,
      queue,
      syncStored(quotas, (quota) => sync(context, kinds, quota)),
    )
    return async (signal) => {
      await run(signal)
      await kinds.close()
    }
  },
}
