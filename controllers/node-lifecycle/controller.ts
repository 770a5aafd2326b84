/** Notices nodes that went silent and says so by conditions and taints; upstream's node-lifecycle-controller. */
import type { KubeObject } from '#api/object.js'
import { sleep } from '#client/backoff.js'
import { isConflict, isNotFound, messageOf } from '#client/errors.js'
import { conditionOf, isPodReady, type Node, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { patchPodStatus } from '../pods/conditions.js'
import { nodeTaints, unknownConditions } from './reconcile.js'

const leaseNamespace = 'kube-node-lease'
/** A node that just registered may need this long for its first status; upstream's node-startup-grace-period. */
const startupGraceMs = 60_000

interface Heard {
  /** What changes with each sign of life: the Lease's renewal, or the status itself. */
  sign: string
  /** By our own clock: clocks of nodes may be wrong. */
  atMs: number
}

class NodeLifecycle {
  readonly #context: ControllerContext
  readonly #heard = new Map<string, Heard>()
  readonly #component = 'node-controller'

  constructor(context: ControllerContext) {
    this.#context = context
  }

  /** Whether there was a sign of life recently enough. */
  #isAlive(node: Node): boolean {
    const { informers, clock, settings } = this.#context
    const name = node.metadata.name!
    const lease = informers.for<KubeObject>(resources.leases).store.get(`${leaseNamespace}/${name}`)
    const ready = conditionOf(node, 'Ready')
    // Our own verdict leaves both as they are.
    const sign = `${lease?.spec?.renewTime ?? ''} ${ready?.lastHeartbeatTime ?? ''}`
    const now = clock.now()
    if (this.#heard.get(name)?.sign !== sign) this.#heard.set(name, { sign, atMs: now })
    const graceMs = ready === undefined ? startupGraceMs : settings.nodeMonitorGracePeriodMs
    return now - this.#heard.get(name)!.atMs <= graceMs
  }

  async check(node: Node): Promise<void> {
    const { client, clock, informers } = this.#context
    let current = node
    const conditions = this.#isAlive(node) ? undefined : unknownConditions(node, clock.now())
    if (conditions !== undefined) {
      const status = { ...node.status, conditions }
      current = await client.update(resources.nodes, { ...node, status }, { subresource: 'status' })
      if (conditionOf(node, 'Ready')?.status === 'True') this.event(node, 'NodeNotReady', undefined)
      informers.for<Node>(resources.nodes).observe(current)
    }
    const taints = nodeTaints(current, clock.now())
    if (taints !== undefined) {
      const spec = { ...current.spec, taints }
      current = await client.update(resources.nodes, { ...current, spec })
      informers.for<Node>(resources.nodes).observe(current)
    }
    if (conditionOf(current, 'Ready')?.status !== 'True') await this.#markPods(current)
  }

  /** Nobody on the node can say any more that its Pods are ready. */
  async #markPods(node: Node): Promise<void> {
    const { informers, recorder } = this.#context
    if (conditionOf(node, 'Ready') === undefined) return
    const pods = informers.for<Pod>(resources.pods).store.byIndex('node', node.metadata.name!)
    for (const pod of pods) {
      if (!isPodReady(pod)) continue
      recorder(this.#component).event(pod, 'Warning', 'NodeNotReady', 'Node is not ready')
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
  }

  /** `what` is missing for a change of its state, which upstream words in another way. */
  event(node: Node, reason: string, what: string | undefined): void {
    const { name } = node.metadata
    const message =
      what === undefined ? `Node ${name} status is now: ${reason}` : `Node ${name} event: ${what}`
    this.#context.recorder(this.#component).event(node, 'Normal', reason, message)
  }
  forget(name: string): void {
    this.#heard.delete(name)
  }
}

export const nodeLifecycleController: Controller = {
  name: 'node-lifecycle-controller',
  start(context) {
    const { informers, log } = context
    const nodes = informers.for<Node>(resources.nodes)
    const pods = informers.for<Pod>(resources.pods)
    informers.for<KubeObject>(resources.leases)
    pods.store.addIndex('node', (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []))
    const lifecycle = new NodeLifecycle(context)
    const queue = newQueue()
    nodes.handle({
      onAdd(node) {
        queue.add(node.metadata.name!)
        lifecycle.event(
          node,
          'RegisteredNode',
          `Registered Node ${node.metadata.name} in Controller`,
        )
      },
      onUpdate: (node) => queue.add(node.metadata.name!),
      onDelete(node) {
        lifecycle.forget(node.metadata.name!)
        lifecycle.event(node, 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`)
      },
    })
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
    const look = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await sleep(context.settings.nodeMonitorPeriodMs, signal)
        for (const name of nodes.store.keys()) queue.add(name)
      }
    }
    return async (signal) => {
      await Promise.all([run(signal), look(signal)])
    }
  },
}
