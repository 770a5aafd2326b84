import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { keyOf } from '#client/object-store.js'
import { isNodeReady, type Node, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { aggregate } from '#go/aggregate.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  type Run,
} from '../controller.js'
import { readLive } from '../read-live.js'
import { belongsInSlice, type Service, usesTopology } from './endpoint.js'
import { HintedServices, type ServiceEvent } from './hinted-services.js'
import { PacedQueue } from './paced-queue.js'
import {
  type EndpointSlice,
  managedBy,
  managedByLabel,
  type NewSlice,
  reconcileSlices,
  type SliceActions,
  serviceNameLabel,
} from './reconcile.js'
import { podsOfService, servicesOfPods } from './services-of-pods.js'
import { type Ratios, zoneOf, zoneRatios } from './topology.js'
import { TriggerTimes, withTriggerTime } from './trigger-time.js'

const serviceKey = ({ metadata }: EndpointSlice): string =>
  `${metadata.namespace}/${metadata.labels?.[serviceNameLabel] ?? ''}`

class EndpointSlices {
  readonly #context: ControllerContext
  readonly #services: Informer<Service>
  readonly #pods: Informer<Pod>
  readonly #slices: Informer<EndpointSlice>
  readonly #nodes: Informer<Node>
  readonly #hinted = new HintedServices()
  /** Made of the nodes as they are now; undefined until somebody asks after they have changed. */
  #ratios: { of: Ratios | undefined } | undefined
  readonly #triggerTimes = new TriggerTimes()
  /** The informer is told what we have written, which wakes nobody. Upstream: EndpointSliceTracker. */
  #isOwn = false

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
    this.#services.handle({
      onDelete: (service) => {
        this.#triggerTimes.forget(keyOf(service))
        this.#hinted.forget(keyOf(service))
      },
    })
    servicesOfPods({ services: this.#services, pods: this.#pods }, (key) => queue.add(key))
    const changed = (slice: EndpointSlice): void => {
      if (!this.#isOwn) queue.add(serviceKey(slice))
    }
    this.#slices.handle({
      onDelete: (slice) => queue.add(serviceKey(slice)),
      onAdd: changed,
      onUpdate(next, previous) {
        changed(next)
        // Somebody has given it to another Service: the one that it was taken from may need another.
        if (serviceKey(next) !== serviceKey(previous)) queue.add(serviceKey(previous))
      },
    })
  }

  /** Puts the keys of Services whose hints fit the nodes no longer into the queue. */
  watchNodes(queue: PacedQueue): Run {
    const changes = newQueue(this.#context, 'endpoint_slice_nodes')
    const look = (): void => {
      this.#ratios = undefined
      changes.add('nodes')
    }
    this.#nodes.handle({
      onAdd: look,
      onDelete: look,
      onUpdate(next, previous) {
        if (isNodeReady(next) !== isNodeReady(previous) || zoneOf(next) !== zoneOf(previous)) look()
      },
    })
    return queueRun(
      this.#context,
      changes,
      async () => {
        for (const key of this.#hinted.overloaded(this.#zoneRatios())) queue.add(key)
      },
      1,
    )
  }

  #zoneRatios(): Ratios | undefined {
    this.#ratios ??= { of: zoneRatios(this.#nodes.store.list()) }
    return this.#ratios.of
  }

  /** Yields how many Pods it looked at. */
  async sync(key: string): Promise<number> {
    const service = this.#services.store.get(key)
    // Without a Service the garbage collector takes its slices.
    if (service === undefined) return 0
    const selected = podsOfService(service, this.#pods)
    if (selected === undefined) return 0
    const { pods, strange } = await this.#onKnownNodes(service, selected)
    // What is remembered of one that has gone meanwhile would be taken for that of the next one of its name.
    if (this.#services.store.get(key)?.metadata.uid !== service.metadata.uid) return 0
    const slices = this.#slices.store
      .byIndex('service', keyOf(service))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const plain = reconcileSlices({
      service,
      pods,
      slices,
      node: (name) => this.#nodes.store.get(name),
      endpointsMax: this.#context.settings.endpointsPerSliceMax,
    })
    const ratios = usesTopology(service) ? this.#zoneRatios() : undefined
    const { actions, events } = this.#hinted.reconcile(service, plain, slices, ratios)
    const triggerTime = this.#triggerTimes.take(service, pods)
    const failures = await this.#write(key, actions, triggerTime)
    for (const event of events) this.#tell(service, event)
    const problem = aggregate([...strange, ...failures])
    if (problem === undefined) return pods.length
    const message = `Error updating Endpoint Slices for Service ${key}: ${problem}`
    this.#tell(service, { type: 'Warning', reason: 'FailedToUpdateEndpointSlices', message })
    throw new Error(message)
  }

  #tell(service: Service, { type, reason, message }: ServiceEvent): void {
    this.#context.recorder('endpoint-slice-controller').event(service, type, reason, message)
  }

  /**
   * Endpoints of Pods whose Node is gone are left out, unless the Service wants unready addresses as well: then they
   * stay. The Service is told, and synced again later.
   */
  async #onKnownNodes(
    service: Service,
    all: readonly Pod[],
  ): Promise<{ pods: readonly Pod[]; strange: string[] }> {
    if (service.spec.publishNotReadyAddresses) return { pods: all, strange: [] }
    const unknown = all.filter(
      (pod) => belongsInSlice(pod) && this.#nodes.store.get(pod.spec.nodeName ?? '') === undefined,
    )
    const strange: string[] = []
    const skipped = new Set<Pod>()
    for (const pod of unknown) {
      const { nodeName: name = '' } = pod.spec
      const node = name && (await readLive(this.#context, resources.nodes, { name }))
      if (node) continue
      skipped.add(pod)
      strange.push(
        `skipping Pod ${pod.metadata.name} for Service ${keyOf(service)}: Node ${name} Not Found`,
      )
    }
    return { pods: all.filter((pod) => !skipped.has(pod)), strange }
  }

  /** Yields what failed first, in upstream's words. */
  async #write(
    service: string,
    actions: SliceActions,
    triggerTime: string | undefined,
  ): Promise<string[]> {
    const { client } = this.#context
    const { endpointSlices } = resources
    const dated = <T extends EndpointSlice | NewSlice>(slice: T): T => ({
      ...slice,
      metadata: {
        ...slice.metadata,
        annotations: withTriggerTime(slice.metadata.annotations, triggerTime),
      },
    })
    const failures: string[] = []
    const orTell = async (what: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work()
      } catch (error) {
        if (!isNamespaceTerminating(error))
          failures.push(`failed to ${what} for Service ${service}: ${messageOf(error)}`)
      }
    }
    // Updates first, all at once: proxies wait for them when a Pod is deleted.
    await Promise.all([
      ...actions.update.map((slice) =>
        orTell(`update ${slice.metadata.name} EndpointSlice`, async () =>
          this.#written(await client.update(endpointSlices, dated(slice))),
        ),
      ),
      ...actions.create.map((slice) =>
        orTell('create EndpointSlice', async () =>
          this.#written(await client.create<EndpointSlice>(endpointSlices, dated(slice))),
        ),
      ),
    ])
    for (const slice of actions.delete) {
      if (failures.length > 0) break
      const { namespace, name, uid, resourceVersion } = slice.metadata
      const options = { preconditions: { uid, resourceVersion } }
      await orTell(`delete ${name} EndpointSlice`, async () => {
        const answer = await client.delete(endpointSlices, { namespace, name }, options)
        this.#slices.observeDelete(slice, answer)
      })
    }
    return failures.slice(0, 1)
  }

  #written(slice: EndpointSlice): void {
    this.#isOwn = true
    this.#slices.observe(slice)
    this.#isOwn = false
  }
}

export const endpointSliceController: Controller = {
  name: 'endpointslice-controller',
  start(context) {
    // Upstream never rests here (endpointUpdatesBatchPeriod is 0): proxies wait for this write when a Pod is deleted.
    // 5 ms for 500 endpoints is enough for Pods that start together to be told together.
    const queue = new PacedQueue(context, 'endpoint_slice', {
      restMsPerEndpoint: 0.01,
      leadMs: context.settings.batchMs.slices,
      backoffBaseMs: 1_000,
    })
    const slices = new EndpointSlices(context)
    slices.watch(queue)
    const followNodes = slices.watchNodes(queue)
    const run = queue.run(context, (key) => slices.sync(key))
    return async (signal) => {
      await Promise.all([run(signal), followNodes(signal)])
    }
  },
}
