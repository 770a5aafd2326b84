/** Keeps as many Pods as a ReplicaSet or ReplicationController wants; upstream's replicaset-controller. */
import { isNamespaceTerminating, isNotFound, messageOf } from '#client/errors.js'
import { type LabelSelector, matchesSelector } from '#client/label-selector.js'
import { keyOf } from '#client/object-store.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  enqueueOwner,
  newQueue,
  queueRun,
} from '../controller.js'
import { nextAvailabilityMs } from '../pods/availability.js'
import { claim } from '../pods/owner.js'
import { inParallel, PodControl, podFromTemplate, slowStart } from '../pods/pod-control.js'
import { planReplicas, type ReplicaSet, replicaStatus } from './reconcile.js'

interface Variant {
  name: string
  ref: ResourceRef
  selectorOf(set: ReplicaSet): LabelSelector
}

const replicaSets: Variant = {
  name: 'replicaset-controller',
  ref: resources.replicaSets,
  selectorOf: (set) => set.spec.selector,
}
const replicationControllers: Variant = {
  name: 'replicationcontroller-controller',
  ref: resources.replicationControllers,
  selectorOf: (set) => ({ matchLabels: set.spec.selector }),
}

interface Failure {
  reason: string
  message: string
}

/** Makes and ends Pods as planned; what went wrong is a condition of the set. */
const act = async (
  set: ReplicaSet,
  ref: ResourceRef,
  pods: readonly Pod[],
  control: PodControl,
): Promise<{ failure?: Failure; error?: unknown }> => {
  const plan = planReplicas(set, pods)
  const { error } = await slowStart(plan.create, () =>
    control.create(podFromTemplate(set.spec.template, ref, set), set),
  )
  if (error !== undefined) {
    if (isNamespaceTerminating(error)) return {}
    return { error, failure: { reason: 'FailedCreate', message: messageOf(error) } }
  }
  try {
    await inParallel(plan.delete, (pod) => control.delete(pod, set))
  } catch (deleteError) {
    const failure = { reason: 'FailedDelete', message: messageOf(deleteError) }
    return { error: deleteError, failure }
  }
  return {}
}

const sync = async (
  context: ControllerContext,
  { ref, selectorOf }: Variant,
  control: PodControl,
  set: ReplicaSet,
): Promise<{ afterMs: number } | undefined> => {
  const { client, informers, clock } = context
  const pods = informers.for<Pod>(resources.pods)
  const inNamespace = () => pods.store.byIndex('namespace', set.metadata.namespace!)
  const claimOptions = {
    client,
    ref,
    owner: set,
    selector: selectorOf(set),
    objectRef: resources.pods,
    observe: (pod: Pod) => pods.observe(pod),
  }
  const mine = await claim(inNamespace(), claimOptions)
  const { failure, error } = await act(set, ref, mine, control)
  // Our own writes are in the store by now.
  const after = inNamespace().filter((p) =>
    p.metadata.ownerReferences?.some((o) => o.controller && o.uid === set.metadata.uid),
  )
  const now = clock.now()
  const status = replicaStatus(set, after, { now, failure })
  if (status !== undefined)
    informers
      .for<ReplicaSet>(ref)
      .observe(await client.update(ref, { ...set, status }, { subresource: 'status' }))
  if (error !== undefined) throw error
  const afterMs = nextAvailabilityMs(after.filter(isPodActive), set.spec.minReadySeconds ?? 0, now)
  return afterMs === undefined ? undefined : { afterMs }
}

const replicaController = (variant: Variant): Controller => ({
  name: variant.name,
  start(context) {
    const { informers } = context
    const sets = informers.for<ReplicaSet>(variant.ref)
    const pods = informers.for<Pod>(resources.pods)
    pods.store.addIndex('namespace', (pod) => [pod.metadata.namespace!])
    sets.store.addIndex('namespace', (set) => [set.metadata.namespace!])
    const queue = newQueue()
    const control = new PodControl(context, variant.name)
    enqueueOwn(sets, queue)
    enqueueOwner(pods, variant.ref, queue, (pod) => {
      for (const set of sets.store.byIndex('namespace', pod.metadata.namespace!))
        if (matchesSelector(variant.selectorOf(set), pod.metadata.labels)) queue.add(keyOf(set))
    })
    return queueRun(context, queue, async (key) => {
      const set = sets.store.get(key)
      if (set === undefined) return undefined
      try {
        return await sync(context, variant, control, set)
      } catch (error) {
        if (isNotFound(error) && sets.store.get(key) === undefined) return undefined
        throw error
      }
    })
  },
})

export const replicaSetController = replicaController(replicaSets)
export const replicationControllerController = replicaController(replicationControllers)
