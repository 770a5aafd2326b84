import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { Controller, ControllerContext } from '../controller.js'
import type { Service } from './endpoint.js'
import { OwnWrites } from './own-writes.js'
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

const serviceKey = ({ metadata }: EndpointSlice): string =>
  `${metadata.namespace}/${metadata.labels?.[serviceNameLabel] ?? ''}`

class EndpointSlices {
  readonly #context: ControllerContext
  readonly #services: Informer<Service>
  readonly #pods: Informer<Pod>
  readonly #slices: Informer<EndpointSlice>
  readonly #nodes: Informer
  readonly #triggerTimes = new TriggerTimes()
  readonly #own = new OwnWrites()

  constructor(context: ControllerContext) {
    const { informers } = context
    this.#context = context
    this.#services = informers.for(resources.services)
    this.#pods = informers.for(resources.pods)
    this.#slices = informers.for(resources.endpointSlices)
    this.#nodes = informers.for(resources.nodes)
    this.#slices.store.addIndex('service', (slice) =>
      slice.metadata.labels?.[managedByLabel] === managedBy ? [serviceKey(slice)] : [],
    )
  }

  /** Puts the keys of Services whose slices may have to change into the queue. */
  watch(queue: PacedQueue): void {
    this.#services.handle({ onDelete: (service) => this.#triggerTimes.forget(keyOf(service)) })
    servicesOfPods({ services: this.#services, pods: this.#pods }, (key) => queue.add(key))
    this.#slices.handle({
      onDelete: (slice) => {
        this.#own.forget(slice)
        queue.add(serviceKey(slice))
      },
      onUpdate: (slice) => {
        if (!this.#own.includes(slice)) queue.add(serviceKey(slice))
      },
    })
  }

  /** Yields how many Pods it looked at. */
  async sync(key: string): Promise<number> {
    const service = this.#services.store.get(key)
    // Without a Service the garbage collector takes its slices.
    if (service === undefined || service.metadata.deletionTimestamp !== undefined) return 0
    const pods = podsOfService(service, this.#pods)
    if (pods === undefined) return 0
    const actions = reconcileSlices({
      service,
      pods,
      slices: this.#slices.store.byIndex('service', keyOf(service)),
      node: (name) => this.#nodes.store.get(name),
      endpointsMax: this.#context.settings.endpointsPerSliceMax,
    })
    try {
      await this.#write(actions, this.#triggerTimes.take(service, pods))
    } catch (error) {
      if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error
    }
    return pods.length
  }

  async #write(
    actions: ReturnType<typeof reconcileSlices>,
    triggerTime: string | undefined,
  ): Promise<void> {
    const { client } = this.#context
    const dated = <T extends EndpointSlice | NewSlice>(slice: T): T => ({
      ...slice,
      metadata: {
        ...slice.metadata,
        annotations: withTriggerTime(slice.metadata.annotations, triggerTime),
      },
    })
    const { endpointSlices } = resources
    // Changes first, and all at once: proxies wait for them when a Pod has to go.
    await Promise.all([
      ...actions.update.map(async (slice) =>
        this.#written(await client.update(endpointSlices, dated(slice))),
      ),
      ...actions.create.map(async (slice) =>
        this.#written(await client.create<EndpointSlice>(endpointSlices, dated(slice))),
      ),
    ])
    for (const slice of actions.delete) {
      const { namespace, name, uid, resourceVersion } = slice.metadata
      const options = { preconditions: { uid, resourceVersion } }
      const answer = await client.delete(endpointSlices, { namespace, name }, options)
      this.#slices.observeDelete(slice, answer)
    }
  }

  #written(slice: EndpointSlice): void {
    this.#own.note(slice)
    this.#slices.observe(slice)
  }
}

export const endpointSliceController: Controller = {
  name: 'endpointslice-controller',
  start(context) {
    // Upstream never rests here (endpointUpdatesBatchPeriod is 0): proxies wait for this write when a Pod is deleted.
    // 5 ms for 500 endpoints is enough for Pods that start together to be told together.
    const queue = new PacedQueue({ restMsPerEndpoint: 0.01 })
    const slices = new EndpointSlices(context)
    slices.watch(queue)
    return queue.run(context.log, (key) => slices.sync(key))
  },
}
