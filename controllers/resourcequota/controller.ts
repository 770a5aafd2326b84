/** Recounts what ResourceQuotas limit, mostly when things go; upstream's resourcequota-controller. */

import type { GroupResource } from '#api/group-version.js'
import type { NamespacedObject } from '#api/object.js'
import type { Usage } from '#api/quota/pod-usage.js'
import { isCharged, isTerminating } from '#api/quota/pod-usage.js'
import { madeFor, type RelatedObjects } from '#api/quota/resource-claim-usage.js'
import { isInScope } from '#api/quota/scopes.js'
import { measureOf } from '#api/quota/usage.js'
import { type Discovered, type DiscoveredResource, discoverUnlessKnown } from '#client/discovery.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { updateStatus } from '../update-object.js'
import { CountedKinds } from './counted-kinds.js'
import { hasScopes, noneOf, type ResourceQuota, usedOf } from './used.js'

/** For these kinds all of their fields count; others are counted by number. */
const measuredKinds = [
  resources.pods,
  resources.services,
  resources.persistentVolumeClaims,
  resources.resourceClaims,
] as const

interface Counting extends ControllerContext {
  readonly kinds: CountedKinds
  readonly related: RelatedObjects
}

const countOthers = async (
  { client, kinds, related, settings }: Counting,
  quota: ResourceQuota,
): Promise<Usage> => {
  const usage: Usage = {}
  const measures = (ref: GroupResource, name: string) => measureOf(ref, related).measures(name)
  const isMeasured = (name: string) => measuredKinds.some((ref) => measures(ref, name))
  const names = Object.keys(quota.spec.hard ?? {}).filter((name) => !isMeasured(name))
  if (names.length === 0) return usage
  const find = ({ resources }: Discovered, name: string): DiscoveredResource | undefined =>
    resources.find((r) => r.namespaced && measures(r, name))
  const discovered = await discoverUnlessKnown(
    client,
    (known) => names.every((name) => find(known, name) !== undefined),
    settings.quotaPeriodMs,
  )
  if (discovered.stale.length === 0) kinds.keepOnly(discovered.resources)
  for (const name of names) {
    const resource = find(discovered, name)
    if (resource === undefined) continue
    // None of them has what a scope is about.
    const isNone = hasScopes(quota)
    usage[name] = isNone ? '0' : `${await kinds.countIn(quota.metadata.namespace, resource)}`
  }
  return usage
}

const sync = async (
  counting: Counting,
  quota: ResourceQuota,
): Promise<{ afterMs: number } | undefined> => {
  const { informers, clock, related } = counting
  const hard = quota.spec.hard ?? {}
  const others = await countOthers(counting, quota)
  // After that, which may take long: until the first count is written, admission charges nothing.
  const now = clock.now()
  const usages = measuredKinds.flatMap((ref) => {
    const { measures, usage } = measureOf(ref, related)
    const names = Object.keys(hard).filter(measures)
    if (names.length === 0) return []
    const all = informers.for(ref).store.byIndex('namespace', quota.metadata.namespace)
    const counted = all.filter((object) => isInScope(ref, object, quota))
    return [noneOf(names), ...counted.map((object) => usage(object, now))]
  })
  const status = { hard, used: usedOf(quota, [...usages, others]) }
  if (!jsonEqual({ ...quota.status }, status))
    await updateStatus(counting, resources.resourceQuotas, quota, status)
  // As by upstream's resync: kinds may have come that nobody knew.
  return { afterMs: counting.settings.quotaPeriodMs }
}

const containerResources = ({ status }: Pod): JsonValue =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
    ({ resources = null }) => resources,
  )

/** Whether an update may have made room in a quota: it ended the Pod, gave it another scope, or resized it. */
const mayFree = (next: Pod, previous: Pod, now: number): boolean =>
  (isCharged(previous, now) && !isCharged(next, now)) ||
  isTerminating(next) !== isTerminating(previous) ||
  !jsonEqual(containerResources(next), containerResources(previous))

const relatedObjects = ({ informers }: ControllerContext): RelatedObjects => {
  const classes = informers.for(resources.deviceClasses).store
  const pods = informers.for(resources.pods).store
  const claims = informers.for(resources.resourceClaims).store
  claims.addIndex('extended-resources-of', (claim) => {
    const owner = madeFor(claim)
    return owner === undefined ? [] : [owner.uid]
  })
  return {
    deviceClasses: () => classes.list(),
    pod: (named) => pods.get(keyOf({ metadata: named })),
    claimsFor: (podUid) => claims.byIndex('extended-resources-of', podUid),
  }
}

export const resourceQuotaController: Controller = {
  name: 'resourcequota-controller',
  start(context) {
    const { informers } = context
    const quotas = informers.for<ResourceQuota>(resources.resourceQuotas)
    const queue = newQueue(context, 'resourcequota_primary')
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
    informers.for(resources.resourceClaims).handle({ onDelete: recount })
    const counting = { ...context, kinds, related: relatedObjects(context) }
    const run = queueRun(
      context,
      queue,
      syncStored(quotas, (quota) => sync(counting, quota)),
    )
    return async (signal) => {
      await run(signal)
      await kinds.close()
    }
  },
}
