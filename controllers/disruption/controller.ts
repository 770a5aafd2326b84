/** Keeps the status of PodDisruptionBudgets, which the eviction subresource decides by; upstream's disruption-controller. */
import { controllerRefOf } from '#api/controller-ref.js'
import { formatGroupResource, groupOf, groupVersionPath } from '#api/group-version.js'
import { matchesSelector, printLabelSelector } from '#api/label-selector.js'
import type { NamespacedObject, OwnerReference } from '#api/object.js'
import type { Client } from '#client/client.js'
import { discoverKind } from '#client/discovery.js'
import { isNotFound, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { getOwn, jsonEqual } from '#json/object.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { updateStatus } from '../update-object.js'
import {
  type BudgetStatus,
  budgetStatus,
  expectationOf,
  failedStatus,
  needsScale,
  type PodDisruptionBudget,
} from './reconcile.js'
import { followStaleTargets } from './stale-targets.js'

const name = 'disruption-controller'
/** The component that its Events name. */
const component = 'controllermanager'
/** Pause before a budget that could not be counted is looked at again. */
const retryMs = 5_000
const known: Record<string, ResourceRef> = {
  ReplicaSet: resources.replicaSets,
  Deployment: resources.deployments,
  StatefulSet: resources.statefulSets,
  ReplicationController: resources.replicationControllers,
}

const hasScale = async (client: Client, ref: ResourceRef): Promise<boolean> => {
  const path = groupVersionPath(ref)
  const list = await client.request<{ resources: { name: string }[] }>({ method: 'GET', path })
  return list.resources.some(({ name }) => name === `${ref.resource}/scale`)
}

/** The size that a controller wants, and the uid of the object that decides it; undefined when it is gone. */
const sizeOf = async (
  context: ControllerContext,
  namespace: string,
  owner: OwnerReference,
): Promise<{ uid: string; replicas: number } | undefined> => {
  const { client, informers } = context
  const ref = getOwn(known, owner.kind)
  const isKnown = ref !== undefined && ref.group === groupOf(owner.apiVersion)
  const found = isKnown ? ref : await discoverKind(client, owner, 'version')
  const at = { namespace, name: owner.name }
  const seen = isKnown ? informers.for(ref).store.get(keyOf({ metadata: at })) : undefined
  try {
    // The watch of Pods may be ahead of that of their controllers.
    const object =
      seen?.metadata.uid === owner.uid
        ? seen
        : await client.get(found, at, isKnown ? {} : { subresource: 'scale' })
    if (object.metadata.uid !== owner.uid) return undefined
    // A Deployment decides for its sets.
    const above = owner.kind === 'ReplicaSet' ? controllerRefOf(object) : undefined
    if (above?.kind === 'Deployment') return sizeOf(context, namespace, above)
    return { uid: owner.uid, replicas: object.spec?.replicas ?? (isKnown ? 1 : 0) }
  } catch (error) {
    if (!isNotFound(error)) throw error
    // Either the owner is gone, or its kind has no scale.
    if (isKnown || (await hasScale(client, found))) return undefined
    throw new Error(`${formatGroupResource(found)} does not implement the scale subresource`)
  }
}

/** The sum of the wanted sizes of all controllers of the Pods, and whether some have none. */
const scaleOf = async (
  context: ControllerContext,
  pods: readonly Pod[],
): Promise<{ scale: number; unmanaged: boolean }> => {
  const sizes = new Map<string, number>()
  const seen = new Set<string>()
  let unmanaged = false
  for (const pod of pods) {
    const owner = controllerRefOf(pod)
    if (owner === undefined) unmanaged = true
    else if (!seen.has(owner.uid)) {
      seen.add(owner.uid)
      const size = await sizeOf(context, pod.metadata.namespace, owner)
      if (size === undefined) throw new Error(`found no controllers for pod "${pod.metadata.name}"`)
      sizes.set(size.uid, size.replicas)
    }
  }
  return { scale: [...sizes.values()].reduce((sum, n) => sum + n, 0), unmanaged }
}

const write = async (
  context: ControllerContext,
  budget: PodDisruptionBudget,
  status: BudgetStatus,
): Promise<void> => {
  const { observedGeneration = 0, ...before } = budget.status ?? {}
  const same = { ...before, observedGeneration }
  if (jsonEqual(same, status)) return
  await updateStatus(context, resources.podDisruptionBudgets, budget, status)
}

type Tale = readonly ['Normal' | 'Warning', string, string]

const tell = (
  { recorder }: ControllerContext,
  subject: NamespacedObject,
  [type, reason, message]: Tale,
): void => recorder(component).event(subject, type, reason, message)

/** Upstream names the budget's namespace where its name should be. */
const notDeleted = ({ metadata: { namespace } }: PodDisruptionBudget): Tale => [
  'Warning',
  'NotDeleted',
  `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`,
]

/** Upstream looks after the one that it names; evictions are refused in any case. */
const tooMany = ({ metadata }: Pod, chosen: PodDisruptionBudget): Tale => [
  'Warning',
  'MultiplePodDisruptionBudgets',
  `Pod "${metadata.namespace}"/"${metadata.name}" matches multiple PodDisruptionBudgets.  Chose "${chosen.metadata.name}" arbitrarily.`,
]

/** How many Pods the controllers of these want; 0 where the budget does not ask. */
const wantedScale = async (
  context: ControllerContext,
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
): Promise<number> => {
  if (!needsScale(budget)) return 0
  const { scale, unmanaged } = await scaleOf(context, pods)
  const selector = printLabelSelector(budget.spec.selector)
  const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`
  if (unmanaged) tell(context, budget, ['Warning', 'UnmanagedPods', message])
  return scale
}

const fail = async (
  context: ControllerContext,
  budget: PodDisruptionBudget,
  why: string,
): Promise<{ afterMs: number }> => {
  const message = `Failed to calculate the number of expected pods: ${why}`
  tell(context, budget, ['Warning', 'CalculateExpectedPodCountFailed', message])
  await write(context, budget, failedStatus(budget, why, context.clock.now()))
  return { afterMs: retryMs }
}

const sync = async (
  context: ControllerContext,
  budget: PodDisruptionBudget,
): Promise<{ afterMs: number } | undefined> => {
  const pods = context.informers
    .for<Pod>(resources.pods)
    .store.byIndex('namespace', budget.metadata.namespace)
    .filter((pod) => matchesSelector(budget.spec.selector, pod.metadata.labels))
  if (pods.length === 0) tell(context, budget, ['Normal', 'NoPods', 'No matching pods found'])
  let scale: number
  try {
    scale = await wantedScale(context, budget, pods)
  } catch (error) {
    return fail(context, budget, messageOf(error))
  }
  const expectation = expectationOf(budget, pods, scale)
  const round = budgetStatus(budget, pods, expectation, context.clock.now())
  const { status, recheckMs } = round
  for (const pod of round.overdue) tell(context, pod, notDeleted(budget))
  await write(context, budget, status)
  return recheckMs === undefined ? undefined : { afterMs: recheckMs }
}

export const disruptionController: Controller = {
  name,
  start(context) {
    const { informers } = context
    const budgets = informers.for<PodDisruptionBudget>(resources.podDisruptionBudgets)
    const pods = informers.for<Pod>(resources.pods)
    const queue = newQueue(context, 'disruption')
    enqueueOwn(budgets, queue)
    const budgetsOf = ({ metadata: { namespace, labels } }: Pod): PodDisruptionBudget[] =>
      budgets.store
        .byIndex('namespace', namespace)
        .filter(({ spec }) => matchesSelector(spec.selector, labels))
    const podChanged = (pod: Pod): void => {
      const found = budgetsOf(pod)
      for (const budget of found) queue.add(keyOf(budget))
      if (found.length > 1) tell(context, pod, tooMany(pod, found[0]!))
    }
    pods.handle({
      onAdd: podChanged,
      onUpdate(next, previous) {
        podChanged(next)
        if (!jsonEqual(next.metadata.labels, previous.metadata.labels))
          for (const budget of budgetsOf(previous)) queue.add(keyOf(budget))
      },
      onDelete: podChanged,
    })
    // A new size of a workload changes what is expected.
    for (const ref of Object.values(known))
      informers.for<NamespacedObject>(ref).handle({
        onUpdate(next, previous) {
          if (next.spec?.replicas === previous.spec?.replicas) return
          for (const budget of budgets.store.byIndex('namespace', next.metadata.namespace))
            if (needsScale(budget)) queue.add(keyOf(budget))
        },
      })
    const runBudgets = queueRun(
      context,
      queue,
      syncStored(budgets, (budget) => sync(context, budget)),
    )
    const runTargets = followStaleTargets(context)
    return async (signal) => {
      await Promise.all([runBudgets(signal), runTargets(signal)])
    }
  },
}
