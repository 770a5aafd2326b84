/** Deletes Pods that do not tolerate a NoExecute taint of their node; upstream's taint-eviction-controller. */
import { isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { patchPodStatus } from '../pods/conditions.js'
import { podsOfNodes } from '../pods/pods-of-nodes.js'
import { noExecute, toleratedMs } from './reconcile.js'

const component = 'taint-eviction-controller'

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

const isToldToGo = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  status?.conditions?.some(({ reason }) => reason === 'DeletionByTaintManager') === true

class TaintEviction {
  readonly #context: ControllerContext
  readonly #podsOfNode: (name: string) => readonly Pod[]
  /** When Pods are to go that are tolerated for some time, in milliseconds since the epoch. */
  readonly #waiting = new Map<string, number>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#podsOfNode = podsOfNodes(context)
  }

  /** Puts the keys of Pods that may have to go, or to stay after all, into the queue. */
  watch(queue: WorkQueue): void {
    const { informers } = this.#context
    const look = (node: Node): void => {
      for (const pod of this.#podsOfNode(node.metadata.name)) queue.add(keyOf(pod))
    }
    informers.for<Node>(resources.nodes).handle({
      onAdd: look,
      onUpdate(next, previous) {
        if (!isSame(noExecute(next.spec.taints), noExecute(previous.spec.taints))) look(next)
      },
    })
    informers.for<Pod>(resources.pods).handle({
      onAdd: (pod) => queue.add(keyOf(pod)),
      onUpdate(next, previous) {
        const [now, before] = [next.spec, previous.spec]
        if (now.nodeName !== before.nodeName || !isSame(now.tolerations, before.tolerations))
          queue.add(keyOf(next))
      },
      onDelete: (pod) => this.#cancel(keyOf(pod)),
    })
  }

  async sync(key: string): Promise<{ afterMs: number } | undefined> {
    const { informers, clock } = this.#context
    const pods = informers.for<Pod>(resources.pods).store
    const pod = pods.get(key)
    if (pod?.spec.nodeName === undefined) return undefined
    const node = informers.for<Node>(resources.nodes).store.get(pod.spec.nodeName)
    // A node that goes takes back none of what its taints have set off.
    const stay =
      node === undefined && this.#waiting.has(key)
        ? 0
        : toleratedMs(pod, noExecute(node?.spec.taints))
    if (stay === undefined || stay === Number.POSITIVE_INFINITY) this.#cancel(key)
    if (stay === Number.POSITIVE_INFINITY || isToldToGo(pod)) return undefined
    const now = clock.now()
    // A time that is set stays as it is while all taints are tolerated, whichever come or go.
    const at = stay === undefined ? now : (this.#waiting.get(key) ?? now + stay)
    if (at > now) {
      this.#waiting.set(key, at)
      return { afterMs: at - now }
    }
    this.#waiting.delete(key)
    try {
      await this.#evict(pod)
    } catch (error) {
      // It is overdue, and does not wait anew.
      if (pods.get(key)?.metadata.uid === pod.metadata.uid) this.#waiting.set(key, at)
      throw error
    }
    return undefined
  }

  #cancel(key: string): void {
    if (this.#waiting.delete(key)) this.#tell(key, `Cancelling deletion of Pod ${key}`)
  }

  /** An ordinary graceful delete: only the node may say that the Pod has ended (kubernetes, controller/tainteviction). */
  async #evict(pod: Pod): Promise<void> {
    this.#tell(keyOf(pod), `Marking for deletion Pod ${keyOf(pod)}`)
    try {
      await patchPodStatus(this.#context, pod, {
        condition: {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByTaintManager',
          message: 'Taint manager: deleting due to NoExecute taint',
        },
      })
      await deleteObject(this.#context, resources.pods, pod)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Upstream knows the Pod by name alone here, so that its Events have no uid. */
  #tell(key: string, message: string): void {
    const [namespace = '', name = ''] = key.split('/')
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } }
    this.#context.recorder(component).event(pod, 'Normal', 'TaintManagerEviction', message)
  }
}

export const taintEvictionController: Controller = {
  name: component,
  serviceAccount: 'node-controller',
  start(context) {
    const eviction = new TaintEviction(context)
    const queue = newQueue(context, 'noexec_taint')
    eviction.watch(queue)
    return queueRun(context, queue, (key) => eviction.sync(key))
  },
}
