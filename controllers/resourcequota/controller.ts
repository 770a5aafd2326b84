/** Recounts what ResourceQuotas limit, mostly when things go; upstream's resourcequota-controller. */
import { jsonEqual } from '#api/json-object.js'
import type { KubeObject } from '#api/object.js'
import type { MilliAmounts } from '#client/amount.js'
import { type DiscoveredResource, discover } from '#client/discovery.js'
import { keyOf } from '#client/object-store.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import {
  claimUsage,
  hasScopes,
  isInScope,
  podUsage,
  type ResourceQuota,
  serviceUsage,
  sumUsage,
  usedOf,
} from './usage.js'

/** Counts of kinds that nobody here watches are taken anew this often; upstream's resync has 5 min. */
const recountMs = 60_000
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
  quota: ResourceQuota,
): Promise<{ usage: MilliAmounts; counted: boolean }> => {
  const usage: MilliAmounts = new Map()
  const names = Object.keys(quota.spec.hard ?? {}).filter(
    (n) => n.startsWith('count/') || n in plainCounts,
  )
  if (names.length === 0) return { usage, counted: false }
  const discovered = (await discover(client)).resources
  for (const name of names) {
    const resource = countedResource(name, discovered)
    if (resource === undefined) continue
    const { items } = await client.list(resource, {
      namespace: quota.metadata.namespace,
      metadataOnly: true,
    })
    usage.set(name, BigInt(items.length) * 1000n)
  }
  return { usage, counted: true }
}

const sync = async (
  context: ControllerContext,
  quota: ResourceQuota,
): Promise<{ afterMs: number } | undefined> => {
  const { client, informers } = context
  const namespace = quota.metadata.namespace!
  const within = <T extends KubeObject>(ref: (typeof resources)[keyof typeof resources]): T[] =>
    informers.for<T>(ref).store.byIndex('namespace', namespace)
  const pods = within<Pod>(resources.pods).filter((pod) => isInScope(quota, pod))
  const others = hasScopes(quota)
    ? { usage: new Map<string, bigint>(), counted: false }
    : await countOthers(context, quota)
  const usage = sumUsage([
    ...pods.map(podUsage),
    ...(hasScopes(quota)
      ? []
      : [
          ...within(resources.services).map(serviceUsage),
          ...within(resources.persistentVolumeClaims).map(claimUsage),
        ]),
    others.usage,
  ])
  const hard = quota.spec.hard ?? {}
  const status = { hard, used: usedOf(hard, usage) }
  if (!jsonEqual({ ...quota.status }, status)) {
    const written = await client.update(
      resources.resourceQuotas,
      { ...quota, status },
      { subresource: 'status' },
    )
    informers.for<ResourceQuota>(resources.resourceQuotas).observe(written)
  }
  return others.counted ? { afterMs: recountMs } : undefined
}

export const resourceQuotaController: Controller = {
  name: 'resourcequota-controller',
  start(context) {
    const { informers } = context
    const quotas = informers.for<ResourceQuota>(resources.resourceQuotas)
    const queue = newQueue()
    quotas.store.addIndex('namespace', (quota) => [quota.metadata.namespace!])
    const recount = (object: KubeObject): void => {
      for (const quota of quotas.store.byIndex('namespace', object.metadata.namespace!))
        queue.add(keyOf(quota))
    }
    enqueueOwn(quotas, queue)
    const pods = informers.for<Pod>(resources.pods)
    pods.handle({
      onDelete: recount,
      onUpdate(next, previous) {
        if (isPodTerminal(next) !== isPodTerminal(previous)) recount(next)
      },
    })
    for (const ref of [resources.services, resources.persistentVolumeClaims])
      informers.for<KubeObject>(ref).handle({ onDelete: recount, onUpdate: recount })
    for (const ref of [resources.pods, resources.services, resources.persistentVolumeClaims])
      informers.for<KubeObject>(ref).store.addIndex('namespace', (o) => [o.metadata.namespace!])
    return queueRun(
      context,
      queue,
      syncStored(quotas, (quota) => sync(context, quota)),
    )
  },
}
