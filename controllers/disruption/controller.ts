/** Keeps the status of PodDisruptionBudgets, which the eviction subresource decides by; upstream's disruption-controller. */
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue, KubeObject } from '#api/object.js'
import { messageOf } from '#client/errors.js'
import { matchesSelector } from '#client/label-selector.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  controllerRefOf,
  enqueueOwn,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import {
  type BudgetStatus,
  budgetStatus,
  countsForBudget,
  expectationOf,
  failedStatus,
  needsScale,
  type PodDisruptionBudget,
} from './reconcile.js'

const component = 'disruption-controller'
const scalable: Record<string, { group: string; ref: (typeof resources)[keyof typeof resources] }> =
  {
    ReplicaSet: { group: 'apps/v1', ref: resources.replicaSets },
    StatefulSet: { group: 'apps/v1', ref: resources.statefulSets },
    ReplicationController: { group: 'v1', ref: resources.replicationControllers },
  }

/** The sum of the wanted sizes of all controllers of the Pods; throws for a Pod that has none with a size. */
const scaleOf = async ({ client }: ControllerContext, pods: readonly Pod[]): Promise<number> => {
  const sizes = new Map<string, number>()
  for (const pod of pods) {
    const owner = controllerRefOf(pod)
    if (owner === undefined)
      throw new Error(`found no controller ref for pod "${pod.metadata.name}"`)
    if (sizes.has(owner.uid)) continue
    const entry = scalable[owner.kind]
    if (entry === undefined)
      throw new Error(`${owner.apiVersion} ${owner.kind} does not implement the scale subresource`)
    let object: KubeObject = await client.get(entry.ref, {
      namespace: pod.metadata.namespace,
      name: owner.name,
    })
    // A Deployment decides for its sets.
    const above = owner.kind === 'ReplicaSet' ? controllerRefOf(object) : undefined
    if (above?.kind === 'Deployment') {
      if (sizes.has(above.uid)) continue
      object = await client.get(resources.deployments, {
        namespace: pod.metadata.namespace,
        name: above.name,
      })
    }
    sizes.set(object.metadata.uid!, object.spec.replicas ?? 1)
  }
  return [...sizes.values()].reduce((sum, n) => sum + n, 0)
}

const write = async (
  { client, informers }: ControllerContext,
  budget: PodDisruptionBudget,
  status: BudgetStatus,
): Promise<void> => {
  const { observedGeneration = 0, ...before } = budget.status ?? {}
  const same = { ...before, observedGeneration }
  if (jsonEqual(same as unknown as JsonValue, status as unknown as JsonValue)) return
  informers
    .for<PodDisruptionBudget>(resources.podDisruptionBudgets)
    .observe(
      await client.update(
        resources.podDisruptionBudgets,
        { ...budget, status },
        { subresource: 'status' },
      ),
    )
}

const sync = async (
  context: ControllerContext,
  budget: PodDisruptionBudget,
): Promise<{ afterMs: number } | undefined> => {
  const { clock, informers, recorder } = context
  const pods = informers
    .for<Pod>(resources.pods)
    .store.byIndex('namespace', budget.metadata.namespace!)
    .filter(
      (pod) => matchesSelector(budget.spec.selector, pod.metadata.labels) && countsForBudget(pod),
    )
  if (pods.length === 0)
    recorder(component).event(budget, 'Normal', 'NoPods', 'No matching pods found')
  let scale = 0
  try {
    if (needsScale(budget)) scale = await scaleOf(context, pods)
  } catch (error) {
    const message = messageOf(error)
    recorder(component).event(
      budget,
      'Warning',
      'CalculateExpectedPodCountFailed',
      `Failed to calculate the number of expected pods: ${message}`,
    )
    await write(context, budget, failedStatus(budget, message, clock.now()))
    return { afterMs: 5_000 }
  }
  const { status, recheckMs } = budgetStatus(
    budget,
    pods,
    expectationOf(budget, pods, scale),
    clock.now(),
  )
  await write(context, budget, status)
  return recheckMs === undefined ? undefined : { afterMs: recheckMs }
}

export const disruptionController: Controller = {
  name: component,
  start(context) {
    const { informers } = context
    const budgets = informers.for<PodDisruptionBudget>(resources.podDisruptionBudgets)
    const pods = informers.for<Pod>(resources.pods)
    pods.store.addIndex('namespace', (pod) => [pod.metadata.namespace!])
    budgets.store.addIndex('namespace', (budget) => [budget.metadata.namespace!])
    const queue = newQueue()
    enqueueOwn(budgets, queue)
    const podChanged = (pod: Pod): void => {
      for (const budget of budgets.store.byIndex('namespace', pod.metadata.namespace!))
        if (matchesSelector(budget.spec.selector, pod.metadata.labels)) queue.add(keyOf(budget))
    }
    pods.handle({
      onAdd: podChanged,
      onUpdate(next, previous) {
        podChanged(next)
        if (next.metadata.labels !== previous.metadata.labels) podChanged(previous)
      },
      onDelete: podChanged,
    })
    // A size that changes changes what is expected.
    for (const ref of [resources.replicaSets, resources.statefulSets, resources.deployments])
      informers.for<KubeObject>(ref).handle({
        onUpdate(next, previous) {
          if (next.spec?.replicas === previous.spec?.replicas) return
          for (const budget of budgets.store.byIndex('namespace', next.metadata.namespace!))
            if (needsScale(budget)) queue.add(keyOf(budget))
        },
      })
    return queueRun(
      context,
      queue,
      syncStored(budgets, (budget) => sync(context, budget)),
    )
  },
}
