/** Keeps as many Pods as a ReplicaSet or ReplicationController wants; upstream's replicaset-controller. */
import { controllerRefOf } from '#api/controller-ref.js'
import type { LabelSelector } from '#api/label-selector.js'
import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import type { Controller, ControllerContext } from '../controller.js'
import { claimOwned, ownedBy, ownerController } from '../ownership/owner-controller.js'
import { lookWhenAvailable } from '../pods/availability.js'
import { inParallel, PodControl, podFromTemplate, slowStart } from '../pods/pod-control.js'
import { updateStatus } from '../update-object.js'
import { planReplicas, type ReplicaPlan, type ReplicaSet, replicaStatus } from './reconcile.js'

interface Variant {
  name: string
  serviceAccount?: string
  queue: string
  /** The component that its Events name. */
  component: string
  ref: ResourceRef
  selectorOf(set: ReplicaSet): LabelSelector
}

const replicaSets: Variant = {
  name: 'replicaset-controller',
  queue: 'replicaset',
  component: 'replicaset-controller',
  ref: resources.replicaSets,
  selectorOf: (set) => set.spec.selector,
}
const replicationControllers: Variant = {
  name: 'replicationcontroller-controller',
  serviceAccount: 'replication-controller',
  queue: 'replicationmanager',
  component: 'replication-controller',
  ref: resources.replicationControllers,
  selectorOf: (set) => ({ matchLabels: set.spec.selector }),
}

interface Failure {
  reason: string
  message: string
}

/** Of all sets that have the same controller; none where a set has no controller. */
const relatedPods = (context: ControllerContext, ref: ResourceRef, set: ReplicaSet): Pod[] => {
  const owner = controllerRefOf(set)
  if (owner === undefined) return []
  const { namespace } = set.metadata
  const related = ownedBy<ReplicaSet>(context, { namespace, uid: owner.uid }, ref)
  return related.flatMap(({ metadata }) => ownedBy<Pod>(context, metadata, resources.pods))
}

/** Makes and ends Pods as planned; what went wrong is a condition of the set. */
const act = async (
  { ref, control }: { ref: ResourceRef; control: PodControl },
  set: ReplicaSet,
  plan: ReplicaPlan,
): Promise<{ failure?: Failure; error?: unknown }> => {
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

interface Tools {
  control: PodControl
  queue: WorkQueue
}

const sync = async (
  context: ControllerContext,
  { ref, selectorOf }: Variant,
  { control, queue }: Tools,
  set: ReplicaSet,
): Promise<void> => {
  const { clock } = context
  const mine = await claimOwned<Pod>(context, set, {
    ref,
    owned: resources.pods,
    selector: selectorOf(set),
    // One that has ended stays with whom it was. Upstream: syncReplicaSet.
    isCandidate: isPodActive,
  })
  const related = () => relatedPods(context, ref, set)
  const plan = planReplicas(set, mine, { related, now: clock.now() })
  const { failure, error } = await act({ ref, control }, set, plan)
  const after = ownedBy<Pod>(context, set.metadata, resources.pods)
  const now = clock.now()
  const status = replicaStatus(set, after, { now, failure })
  if (status !== undefined) await updateStatus(context, ref, set, status)
  lookWhenAvailable(queue, set, after.filter(isPodActive), now)
  if (error !== undefined) throw error
}

const replicaController = (variant: Variant): Controller =>
  ownerController<ReplicaSet>({
    ...variant,
    owned: resources.pods,
    prepare(context, _sets, queue) {
      const tools = { control: new PodControl(context, variant.component), queue }
      return (set) => sync(context, variant, tools, set)
    },
  })

export const replicaSetController = replicaController(replicaSets)
export const replicationControllerController = replicaController(replicationControllers)
