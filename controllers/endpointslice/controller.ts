/** Keeps the EndpointSlices of every Service with a selector; upstream's endpointslice-controller. */
import type { KubeObject } from '#api/object.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { Controller, ControllerContext } from '../controller.js'
import type { Service } from './endpoint.js'
import { PacedQueue } from './paced-queue.js'
import {
  type EndpointSlice,
  managedBy,
  managedByLabel,
  type NewSlice,
  reconcileSlices,
  serviceNameLabel,
} from './reconcile.js'
import { podsOfService, servicesOfPods } from './services-of-pods.js'
import { TriggerTimes, withTriggerTime } from './trigger-time.js'

/**
 * The slices as this controller has written them: the news of its own writes need no look at all Pods of the Service.
 * Upstream's EndpointSliceTracker.
 */
class OwnWrites {
  readonly #versions = new Map<string, string | undefined>()

  note({ metadata }: EndpointSlice): void {
    this.#versions.set(metadata.uid!, metadata.resourceVersion)
  }
  forget({ metadata }: EndpointSlice): void {
    this.#versions.delete(metadata.uid!)
  }
  includes({ metadata }: EndpointSlice): boolean {
    return this.#versions.get(metadata.uid!) === metadata.resourceVersion
  }
}

const writeActions = async (
  { client, informers }: ControllerContext,
  own: OwnWrites,
  actions: ReturnType<typeof reconcileSlices>,
  triggerTime: string | undefined,
): Promise<void> => {
  const dated = <T extends EndpointSlice | NewSlice>(slice: T): T => ({
    ...slice,
    metadata: {
      ...slice.metadata,
      annotations: withTriggerTime(slice.metadata.annotations, triggerTime),
    },
  })
  const informer = informers.for<EndpointSlice>(resources.endpointSlices)
  const written = (slice: EndpointSlice): void => {
    own.note(slice)
    informer.observe(slice)
  }
  // Changes first, and all at once: proxies wait for them when a Pod has to go.
  await Promise.all([
    ...actions.update.map(async (slice) =>
      written(await client.update(resources.endpointSlices, dated(slice))),
    ),
    ...actions.create.map(async (slice) =>
      written(await client.create<EndpointSlice>(resources.endpointSlices, dated(slice))),
    ),
  ])
  for (const slice of actions.delete) {
    const { namespace, name, uid, resourceVersion } = slice.metadata
    const answer = await client.delete(
      resources.endpointSlices,
      { namespace, name: name! },
      { preconditions: { uid, resourceVersion } },
    )
    informer.observeDelete(slice, answer)
  }
}

export const endpointSliceController: Controller = {
  name: 'endpointslice-controller',
  start(context) {
    const { informers } = context
    const services = informers.for<Service>(resources.services)
    const pods = informers.for<Pod>(resources.pods)
    const slices = informers.for<EndpointSlice>(resources.endpointSlices)
    const nodes = informers.for<KubeObject>(resources.nodes)
    // Upstream never rests here (endpointUpdatesBatchPeriod is 0): proxies wait for this write when a Pod is deleted.
    // 5 ms for 500 endpoints is enough for Pods that start together to be told together.
    const queue = new PacedQueue({ restMsPerEndpoint: 0.01 })
    const triggerTimes = new TriggerTimes()
    services.handle({ onDelete: (service) => triggerTimes.forget(keyOf(service)) })
    const serviceKey = (slice: EndpointSlice) =>
      `${slice.metadata.namespace}/${slice.metadata.labels?.[serviceNameLabel] ?? ''}`
    slices.store.addIndex('service', (slice) =>
      slice.metadata.labels?.[managedByLabel] === managedBy ? [serviceKey(slice)] : [],
    )
    servicesOfPods({ services, pods }, (key) => queue.add(key))
    const own = new OwnWrites()
    slices.handle({
      onDelete: (slice) => {
        own.forget(slice)
        queue.add(serviceKey(slice))
      },
      onUpdate: (slice) => {
        if (!own.includes(slice)) queue.add(serviceKey(slice))
      },
    })
    return queue.run(context.log, async (key) => {
      const service = services.store.get(key)
      // Without a Service the garbage collector takes its slices.
      if (service === undefined || service.metadata.deletionTimestamp !== undefined) return 0
      const chosen = podsOfService(service, pods)
      if (chosen === undefined) return 0
      const actions = reconcileSlices({
        service,
        pods: chosen,
        slices: slices.store.byIndex('service', keyOf(service)),
        node: (name) => nodes.store.get(name),
      })
      try {
        await writeActions(context, own, actions, triggerTimes.take(service, chosen))
      } catch (error) {
        if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error
      }
      return chosen.length
    })
  },
}
