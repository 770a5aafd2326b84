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
import { evictionTime } from './reconcile.js'

const component = 'taint-eviction-controller'

const taintsOf = (node: Node | undefined): string => JSON.stringify(node?.spec.taints ?? [])

class TaintEviction {
  readonly #context: ControllerContext
  readonly #podsOfNode: (name: string) => readonly Pod[]
  /** Pods that are to go later: since when that is known, and when. */
  readonly #waiting = new Map<string, { sinceMs: number; atMs: number }>()

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
        if (taintsOf(next) !== taintsOf(previous)) look(next)
      },
    })
    informers.for<Pod>(resources.pods).handle({
      onAdd: (pod) => queue.add(keyOf(pod)),
      onUpdate(next, previous) {
        const isSame =
          next.spec.nodeName === previous.spec.nodeName &&
          next.metadata.generation === previous.metadata.generation
        if (!isSame) queue.add(keyOf(next))
      },
      onDelete: (pod) => this.#cancel(keyOf(pod)),
    })
  }

  async sync(key: string): Promise<{ afterMs: number } | undefined> {
    const { informers, clock } = this.#context
    const pod = informers.for<Pod>(resources.pods).store.get(key)
    if (pod?.spec.nodeName === undefined) return undefined
    const waits = this.#waiting.get(key)
    if (pod.metadata.deletionTimestamp !== undefined && waits === undefined) return undefined
    const node = informers.for<Node>(resources.nodes).store.get(pod.spec.nodeName)
    const now = clock.now()
    // A node that goes takes back none of what its taints have set off.
    const at =
      node === undefined
        ? waits?.atMs
        : evictionTime(pod, node.spec.taints ?? [], { now, seenMs: waits?.sinceMs })
    if (at !== undefined && at > now) {
      this.#waiting.set(key, { sinceMs: waits?.sinceMs ?? now, atMs: at })
      return { afterMs: at - now }
    }
    // One that goes at once, before its time, is told of as one that does not go then.
    if (at === undefined || (waits !== undefined && now < waits.atMs)) this.#cancel(key)
    this.#waiting.delete(key)
    if (at !== undefined) await this.#evict(pod)
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
  start(context) {
    const eviction = new TaintEviction(context)
    const queue = newQueue()
    eviction.watch(queue)
    return queueRun(context, queue, (key) => eviction.sync(key))
  },
}
