/** Deletes Pods that do not tolerate a NoExecute taint of their node; upstream's taint-eviction-controller. */
import { isNotFound } from '#client/errors.js'
import { keyOf, splitKey } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { patchPodStatus } from '../pods/conditions.js'
import { evictionTime } from './reconcile.js'

const component = 'taint-eviction-controller'

/** An ordinary graceful delete: only the node may say that the Pod has ended (deletion.md row 231). */
const evict = async (context: ControllerContext, pod: Pod): Promise<void> => {
  const { namespace, name } = pod.metadata
  context
    .recorder(component)
    .event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${namespace}/${name}`)
  try {
    await patchPodStatus(context, pod, {
      condition: {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByTaintManager',
        message: 'Taint manager: deleting due to NoExecute taint',
      },
    })
    await deleteObject(context, resources.pods, pod)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

export const taintEvictionController: Controller = {
  name: component,
  start(context) {
    const { informers, clock } = context
    const nodes = informers.for<Node>(resources.nodes)
    const pods = informers.for<Pod>(resources.pods)
    pods.store.addIndex('node', (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []))
    const queue = newQueue()
    /** Pods that are to go later, and since when that is known. */
    const waiting = new Map<string, number>()
    const look = (node: Node): void => {
      for (const pod of pods.store.byIndex('node', node.metadata.name!)) queue.add(keyOf(pod))
    }
    const taintsOf = (node: Node | undefined): string => JSON.stringify(node?.spec.taints ?? [])
    nodes.handle({
      onAdd: look,
      onUpdate(next, previous) {
        if (taintsOf(next) !== taintsOf(previous)) look(next)
      },
    })
    pods.handle({
      onAdd: (pod) => queue.add(keyOf(pod)),
      onUpdate(next, previous) {
        const same =
          next.spec.nodeName === previous.spec.nodeName &&
          next.metadata.generation === previous.metadata.generation
        if (!same) queue.add(keyOf(next))
      },
      onDelete: (pod) => waiting.delete(keyOf(pod)),
    })
    const cancel = (pod: Pod): void => {
      if (!waiting.delete(keyOf(pod))) return
      const { namespace, name } = splitKey(keyOf(pod))
      context
        .recorder(component)
        .event(
          pod,
          'Normal',
          'TaintManagerEviction',
          `Cancelling deletion of Pod ${namespace}/${name}`,
        )
    }
    return queueRun(context, queue, async (key) => {
      const pod = pods.store.get(key)
      if (pod?.spec.nodeName === undefined || pod.metadata.deletionTimestamp !== undefined)
        return undefined
      const taints = nodes.store.get(pod.spec.nodeName)?.spec.taints ?? []
      const now = clock.now()
      const at = evictionTime(pod, taints, { now, seenMs: waiting.get(key) })
      if (at === undefined) cancel(pod)
      else if (at <= now) {
        waiting.delete(key)
        await evict(context, pod)
      } else {
        if (!waiting.has(key)) waiting.set(key, now)
        return { afterMs: at - now }
      }
      return undefined
    })
  },
}
