/** Deletes what has lost its owners, over every kind that the server has; upstream's garbage-collector-controller. */
import { groupOf } from '#api/group-version.js'
import { withOwnSignal } from '#async/own-signal.js'
import { sleep } from '#async/sleep.js'
import { type DiscoveredResource, discover } from '#client/discovery.js'
import { messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { type WorkQueue, work } from '#client/work-queue.js'
import { lookAgainSoon } from '../blind.js'
import { type Controller, type ControllerContext, newQueue, type Run } from '../controller.js'
import { metadataInformer } from '../metadata-informer.js'
import { Collector } from './collector.js'
import { Graph, type GraphNode } from './graph.js'

/** How often the server is asked for new and lost kinds; upstream's value. */
const discoveryPeriodMs = 30_000
/** After a CustomResourceDefinition changed its kind appears soon. */
const discoverySoonMs = 500
/**
 * How long a kind that the server refuses to list (its conversion webhook is down) may hold up all collecting. As
 * upstream.
 */
const blindMaxMs = 30_000
/** Pause before a server that did not say what kinds it has is asked again; without kinds nothing is known. */
const discoveryRetryMs = 200
const crds: DiscoveredResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
  verbs: [],
}

interface Monitor {
  informer: Informer
  stop: AbortController
  running: Promise<void>
}

/** Ownership needs no more of an object than this. */
const ownershipFields = ['ownerReferences', 'finalizers', 'deletionTimestamp'] as const

const isEvent = (r: DiscoveredResource): boolean => r.resource === 'events'
const isMonitored = (r: DiscoveredResource): boolean =>
  !isEvent(r) && ['delete', 'list', 'watch'].every((verb) => r.verbs.includes(verb))

class GarbageCollector {
  readonly #context: ControllerContext
  readonly #monitors = new Map<string, Monitor>()
  readonly #byKind = new Map<string, DiscoveredResource>()
  readonly #deletions: WorkQueue<GraphNode>
  readonly #orphanings: WorkQueue<GraphNode>
  readonly #graph: Graph
  readonly #collector: Collector
  /** A definition has changed since the server was asked last. */
  #hasNews = false
  #wake: (() => void) | undefined

  constructor(context: ControllerContext) {
    this.#context = context
    this.#deletions = newQueue(context, 'garbage_collector_attempt_to_delete')
    this.#orphanings = newQueue(context, 'garbage_collector_attempt_to_orphan')
    this.#graph = new Graph({
      delete: (node) => this.#deletions.add(node),
      orphan: (node) => this.#orphanings.add(node),
      owned: (dependent, reference) => this.#collector.noteOwned(dependent, reference),
      foreignOwner: (dependent, reference) =>
        this.#collector.warnOfForeignOwner(dependent, reference),
    })
    this.#collector = new Collector({
      client: context.client,
      graph: this.#graph,
      recorder: context.recorder('garbage-collector-controller'),
      resourceOf: (apiVersion, kind) => this.#byKind.get(`${groupOf(apiVersion)}/${kind}`),
      again: (node) => this.#deletions.add(node),
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, workers } = this.#context
    while (!signal.aborted && !(await this.#discover(signal))) await sleep(discoveryRetryMs, signal)
    // Owners that are known save a question each; the queues fill meanwhile.
    await this.#synced(signal)
    await Promise.all([
      work({
        queue: this.#deletions,
        workers,
        log,
        signal,
        sync: (node) =>
          node.deletingDependents && !this.#knowsDependents()
            ? lookAgainSoon
            : this.#collector.attemptToDelete(node),
      }),
      work({
        queue: this.#orphanings,
        workers,
        log,
        signal,
        sync: (node) =>
          this.#knowsDependents() ? this.#collector.attemptToOrphan(node) : lookAgainSoon,
      }),
      this.#keepDiscovering(signal),
    ])
    await Promise.all([...this.#monitors.values()].map((monitor) => monitor.running))
  }

  /**
   * Whether dependents are known: an owner whose dependents have not been seen yet looks like one without any, and must
   * not be finalized. A watch that is late, on a slow machine or network, is waited for however long that takes.
   */
  #knowsDependents(): boolean {
    return [...this.#monitors.values()].every(
      ({ informer }) =>
        informer.blindMs === 0 || (informer.isRefused && informer.blindMs > blindMaxMs),
    )
  }

  async #synced(signal: AbortSignal): Promise<void> {
    const all = [...this.#monitors.values()].map((monitor) => monitor.informer.synced())
    await withOwnSignal(signal, async (done) => {
      await Promise.race([Promise.all(all), sleep(blindMaxMs, done.signal)])
      done.abort()
    })
  }

  async #keepDiscovering(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!this.#hasNews)
        await withOwnSignal(signal, (soon) => {
          this.#wake = () => soon.abort()
          return sleep(discoveryPeriodMs, soon.signal)
        })
      if (this.#hasNews) await sleep(discoverySoonMs, signal)
      // What changes while the server answers may be missing in the answer.
      this.#hasNews = false
      if (!signal.aborted) await this.#discover(signal)
    }
  }

  async #discover(signal: AbortSignal): Promise<boolean> {
    try {
      const { resources, stale } = await discover(this.#context.client)
      const wanted = new Map<string, DiscoveredResource>()
      // Owners of a kind that has gone may come back with it: they do not count as absent. But those whose end is known
      // are looked at first.
      if (stale.length === 0 && this.#deletions.length === 0) this.#byKind.clear()
      for (const resource of resources) {
        this.#byKind.set(`${resource.group}/${resource.kind}`, resource)
        if (isMonitored(resource)) wanted.set(`${resource.group}/${resource.resource}`, resource)
      }
      for (const [key, resource] of wanted) this.#follow(key, resource, signal)
      // A group that did not answer has not lost its kinds.
      if (stale.length === 0)
        for (const [key, monitor] of this.#monitors)
          if (!wanted.has(key)) {
            monitor.stop.abort()
            this.#monitors.delete(key)
          }
      return true
    } catch (error) {
      this.#context.log.info({ error: messageOf(error) }, 'discovery failed')
      return false
    }
  }

  /** In the version that the server prefers: another may be served no longer. */
  #follow(key: string, resource: DiscoveredResource, signal: AbortSignal): void {
    const known = this.#monitors.get(key)
    if (known?.informer.ref.version === resource.version) return
    known?.stop.abort()
    this.#monitors.set(key, this.#monitor(resource, signal))
  }

  #monitor(resource: DiscoveredResource, signal: AbortSignal): Monitor {
    const informer = metadataInformer(this.#context, resource, ownershipFields)
    informer.handle({
      onAdd: (object) => this.#graph.seen(object),
      onUpdate: (next, previous) => this.#graph.seen(next, previous),
      onDelete: (last) => {
        const node = this.#graph.get(last.metadata.uid)
        // Nobody would ask for another.
        if (node !== undefined && node.dependents.size > 0) this.#collector.noteGone(node.identity)
        this.#graph.gone(last.metadata.uid)
      },
    })
    if (resource.group === crds.group && resource.resource === crds.resource) {
      const soon = (): void => {
        this.#hasNews = true
        this.#wake?.()
      }
      informer.handle({ onAdd: soon, onUpdate: soon, onDelete: soon })
    }
    let stop!: AbortController
    const running = withOwnSignal(signal, (own) => {
      stop = own
      return informer.run(own.signal)
    })
    return { informer, stop, running }
  }
}

export const garbageCollectorController: Controller = {
  name: 'garbage-collector-controller',
  serviceAccount: 'generic-garbage-collector',
  start(context): Run {
    const collector = new GarbageCollector(context)
    return (signal) => collector.run(signal)
  },
}
