import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import { isConflict, isNotFound, messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { isNodeReady, isPodReady, type Node, type Pod, type Taint } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import {
  type Controller,
  type ControllerContext,
  lookingRun,
  newQueue,
  queueRun,
} from '../controller.js'
import { patchPodStatus } from '../pods/conditions.js'
import { podsOfNodes } from '../pods/pods-of-nodes.js'
import { updateObject, updateStatus } from '../update-object.js'
import {
  awaitsEviction,
  nodeTaints,
  oldLabels,
  unknownConditions,
  withoutEviction,
} from './reconcile.js'
import { Silence } from './silence.js'
import { Zones, zoneOf } from './zones.js'

const leaseNamespace = 'kube-node-lease'
/** How often it is checked whether it is a node's turn to be given up; upstream's NodeEvictionPeriod. */
const evictionPeriodMs = 100

class NodeLifecycle {
  readonly #context: ControllerContext
  readonly #podsOfNode: (name: string) => readonly Pod[]
  readonly #silence = new Silence()
  readonly #zones: Zones
  /** Nodes whose Pods are to be given up when it is their zone's turn, and whether it was. */
  readonly #awaiting = new Map<string, { hasTurn: boolean }>()
  /** By UID: Pods that came to their node, or whose node was lost, and have not been looked at since. */
  readonly #unseen = new Set<string>()
  /** How far the cluster's clock was moved on while we looked. */
  #movedMs = 0
  readonly #component = 'node-controller'

  constructor(context: ControllerContext) {
    this.#context = context
    this.#podsOfNode = podsOfNodes(context)
    this.#zones = new Zones(context.settings)
  }

  get #nodes(): Informer<Node> {
    return this.#context.informers.for<Node>(resources.nodes)
  }

  #leaseOf({ metadata: { name } }: Node): PersistedObject | undefined {
    return this.#context.informers.for(resources.leases).store.get(`${leaseNamespace}/${name}`)
  }

  /** Signs of life are the Lease's renewal and the status itself; our own writes leave both as they are. */
  hear(node: Node): void {
    const renewed = this.#leaseOf(node)?.spec?.renewTime
    const reported = conditionOf(node, 'Ready')?.lastHeartbeatTime ?? undefined
    this.#silence.hear(node.metadata.name, [renewed, reported], performance.now())
  }

  /** Whether there was a sign of life recently enough. */
  #isAlive(node: Node): boolean {
    const { nodeStartupGracePeriodMs, nodeMonitorGracePeriodMs } = this.#context.settings
    const hasReported = conditionOf(node, 'Ready') !== undefined
    const graceMs = hasReported ? nodeMonitorGracePeriodMs : nodeStartupGracePeriodMs
    const leaseSeconds: number | undefined = this.#leaseOf(node)?.spec?.leaseDurationSeconds
    this.hear(node)
    return this.#silence.lengthMs(node.metadata.name, leaseSeconds, performance.now()) <= graceMs
  }

  async check(node: Node): Promise<void> {
    const { clock } = this.#context
    let current = node
    const conditions = this.#isAlive(node) ? undefined : unknownConditions(node, clock.now())
    if (conditions !== undefined) {
      const status = { ...node.status, conditions }
      current = await updateStatus(this.#context, resources.nodes, node, status)
      if (isNodeReady(node)) {
        this.event(node, 'NodeNotReady', undefined)
        for (const pod of this.#podsOfNode(node.metadata.name)) this.#unseen.add(pod.metadata.uid)
      }
    }
    const taints = nodeTaints(current, { now: clock.now(), mayEvict: false })
    if (taints !== undefined) current = await this.#taint(current, taints)
    const labels = oldLabels(current)
    if (labels !== undefined) {
      const metadata = { ...current.metadata, labels: { ...current.metadata.labels, ...labels } }
      current = await updateObject(this.#context, resources.nodes, { ...current, metadata })
    }
    await this.#markPods(current)
  }

  #taint(node: Node, taints: Taint[]): Promise<Node> {
    const spec = { ...node.spec, taints }
    return updateObject(this.#context, resources.nodes, { ...node, spec })
  }

  /** Sees how the zones are, and which nodes' Pods are to be given up. */
  async survey(): Promise<void> {
    const nodes = this.#nodes.store.list()
    const change = this.#zones.observe(nodes, this.#pace())
    if (change === 'entered') {
      this.#context.log.info({}, 'no node is ready: no Pods are given up until one is')
      this.#awaiting.clear()
      await Promise.all(nodes.map((node) => this.#keepPods(node)))
    }
    // While no node was heard of, silence meant nothing.
    if (change === 'left') this.#silence.forgive(performance.now())
    for (const node of nodes) {
      const { name } = node.metadata
      if (awaitsEviction(node) && !this.#awaiting.has(name))
        this.#awaiting.set(name, { hasTurn: false })
    }
  }

  async #keepPods(node: Node): Promise<void> {
    const taints = withoutEviction(node)
    if (taints !== undefined)
      await this.#taint(node, taints).catch((error) => this.#tell(node, error))
  }

  /**
   * Gives up the Pods of nodes whose turn it is; what fails is tried when it is their turn again. A turn is not lost to
   * somebody who wrote meanwhile (upstream: AddOrUpdateTaintOnNode), as the next one may be 100 s away.
   */
  async evict(): Promise<void> {
    for (const [name, entry] of this.#awaiting) {
      const node = this.#nodes.store.get(name)
      if (node === undefined || !awaitsEviction(node)) this.#awaiting.delete(name)
      else if (entry.hasTurn || this.#zones.mayEvict(zoneOf(node), this.#pace()))
        entry.hasTurn = await this.#giveUp(node)
    }
  }

  /** True: somebody wrote meanwhile. */
  async #giveUp(node: Node): Promise<boolean> {
    const taints = nodeTaints(node, { now: this.#context.clock.now(), mayEvict: true })
    try {
      if (taints !== undefined) await this.#taint(node, taints)
      this.#awaiting.delete(node.metadata.name)
      return false
    } catch (error) {
      this.#tell(node, error)
      return isConflict(error)
    }
  }

  /** The time by which rates go. */
  #pace(): number {
    return performance.now() + this.#movedMs
  }

  clockMoved(byMs: number): void {
    this.#silence.clockMoved(byMs, performance.now())
    this.#movedMs += Math.max(0, byMs)
  }

  #tell({ metadata: { name } }: Node, error: unknown): void {
    if (isNotFound(error) || isConflict(error)) return
    this.#context.log.info({ node: name, error: messageOf(error) }, 'taints not changed')
  }

  /** Nobody on a lost node can say any more that its Pods are ready; one that says itself that it is not goes on telling. */
  async #markPods(node: Node): Promise<void> {
    const isLost = conditionOf(node, 'Ready') !== undefined && !isNodeReady(node)
    for (const pod of this.#podsOfNode(node.metadata.name)) {
      if (!this.#unseen.has(pod.metadata.uid)) continue
      if (isLost && isPodReady(pod)) await this.#mark(pod)
      this.#unseen.delete(pod.metadata.uid)
    }
  }

  async #mark(pod: Pod): Promise<void> {
    const recorder = this.#context.recorder(this.#component)
    recorder.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready')
    const { reason = '', message = '' } = conditionOf(pod, 'Ready')!
    try {
      await patchPodStatus(this.#context, pod, {
        condition: { type: 'Ready', status: 'False', reason, message },
        observed: false,
      })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** A Pod that comes to a node, also at our start, may have come to a lost one. */
  followPods(queue: WorkQueue): void {
    const arrived = (pod: Pod): void => {
      if (!pod.spec.nodeName) return
      this.#unseen.add(pod.metadata.uid)
      queue.add(pod.spec.nodeName)
    }
    this.#context.informers.for<Pod>(resources.pods).handle({
      onAdd: arrived,
      onUpdate(next, previous) {
        if (next.spec.nodeName !== previous.spec.nodeName) arrived(next)
      },
      onDelete: (pod) => this.#unseen.delete(pod.metadata.uid),
    })
  }

  /** `what` is missing for a change of its state, which upstream words in another way. */
  event(node: Node, reason: string, what: string | undefined): void {
    const { name, uid } = node.metadata
    const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid } }
    const message =
      what === undefined ? `Node ${name} status is now: ${reason}` : `Node ${name} event: ${what}`
    this.#context.recorder(this.#component).event(subject, 'Normal', reason, message)
  }

  forget(name: string): void {
    this.#silence.forget(name)
  }
}

/** A sign of life counts from when it comes: a later one, or a move of the clock, may be seen before the next look. */
const followLeases = (
  { informers }: ControllerContext,
  nodes: Informer<Node>,
  lifecycle: NodeLifecycle,
): void => {
  const renewed = ({ metadata: { namespace, name } }: PersistedObject): void => {
    const node = namespace === leaseNamespace ? nodes.store.get(name) : undefined
    if (node !== undefined) lifecycle.hear(node)
  }
  informers.for(resources.leases).handle({ onAdd: renewed, onUpdate: renewed })
}

/** Records Events for nodes that come and go, and enqueues those that change. */
const follow = (nodes: Informer<Node>, lifecycle: NodeLifecycle, queue: WorkQueue): void => {
  const enqueue = (node: Node): void => {
    lifecycle.hear(node)
    queue.add(node.metadata.name)
  }
  nodes.handle({
    onAdd(node) {
      enqueue(node)
      const what = `Registered Node ${node.metadata.name} in Controller`
      lifecycle.event(node, 'RegisteredNode', what)
    },
    onUpdate: enqueue,
    onDelete(node) {
      lifecycle.forget(node.metadata.name)
      lifecycle.event(node, 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`)
    },
  })
}

export const nodeLifecycleController: Controller = {
  name: 'node-lifecycle-controller',
  serviceAccount: 'node-controller',
  start(context) {
    const { clock, informers, log, settings } = context
    const nodes = informers.for<Node>(resources.nodes)
    const lifecycle = new NodeLifecycle(context)
    const queue = newQueue(context, 'node_lifecycle_controller')
    follow(nodes, lifecycle, queue)
    followLeases(context, nodes, lifecycle)
    lifecycle.followPods(queue)
    const run = queueRun(context, queue, async (name) => {
      const node = nodes.store.get(name)
      if (node === undefined) return
      try {
        await lifecycle.check(node)
      } catch (error) {
        if (isNotFound(error)) return
        if (!isConflict(error))
          log.info({ node: name, error: messageOf(error) }, 'node not checked')
        throw error
      }
    })
    // Silence makes no event on the watch: it has to be looked for.
    const look = lookingRun(context, settings.nodeMonitorPeriodMs, async () => {
      await lifecycle.survey()
      for (const name of nodes.store.keys()) queue.add(name)
    })
    const evict = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await sleep(evictionPeriodMs, signal)
        await lifecycle.evict()
      }
    }
    return async (signal) => {
      const ignoreMoves = clock.onMove?.((byMs) => lifecycle.clockMoved(byMs))
      await Promise.all([run(signal), look(signal), evict(signal)])
      ignoreMoves?.()
    }
  },
}
