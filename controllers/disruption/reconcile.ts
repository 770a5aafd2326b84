/** How many Pods of a budget may be disrupted. Pure (kubernetes, controller/disruption). */
import { formatTime, parseTime } from '#api/clock.js'
import { type Condition, conditionOf, putCondition, sinceWhen } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import { isPodReady, type Pod } from '#client/pod.js'
import { getOwn } from '#json/object.js'
import { scaled } from '../pods/scaled.js'

export interface PodDisruptionBudget extends NamespacedObject {
  spec: {
    selector?: LabelSelector
    minAvailable?: number | string
    maxUnavailable?: number | string
  }
  status: BudgetStatus
}
export interface BudgetStatus {
  observedGeneration?: number
  disruptedPods?: Record<string, string>
  disruptionsAllowed: number
  currentHealthy: number
  desiredHealthy: number
  expectedPods: number
  conditions?: Condition[]
}

/** An eviction that was granted but not followed by a deletion within this counts no longer. */
const disruptionTimeoutMs = 120_000

interface Expectation {
  expectedPods: number
  desiredHealthy: number
}

/** `scale`: the wanted size of the Pods' controllers, where the budget needs to know it. */
export const expectationOf = (
  { spec }: PodDisruptionBudget,
  pods: readonly Pod[],
  scale: number,
): Expectation => {
  if (spec.maxUnavailable !== undefined)
    return {
      expectedPods: scale,
      desiredHealthy: Math.max(0, scale - scaled(spec.maxUnavailable, scale, true)),
    }
  if (typeof spec.minAvailable === 'string')
    return { expectedPods: scale, desiredHealthy: scaled(spec.minAvailable, scale, true) }
  // An empty budget expects 0 Pods and allows no disruption.
  if (spec.minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 }
  return { expectedPods: pods.length, desiredHealthy: spec.minAvailable }
}

export const needsScale = ({ spec }: PodDisruptionBudget): boolean =>
  spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string'

interface Evictions {
  disrupted: Record<string, string>
  recheckMs: number | undefined
  /** Pods that were to be deleted by now. */
  overdue: Pod[]
}

/** Evictions under way: those whose Pod is still there and not ending yet, for a while. */
const evictionsOf = (budget: PodDisruptionBudget, pods: readonly Pod[], now: number): Evictions => {
  const overdue: Pod[] = []
  const disrupted: Record<string, string> = {}
  let recheckMs: number | undefined
  for (const pod of pods) {
    const at = getOwn(budget.status?.disruptedPods, pod.metadata.name)
    if (at === undefined || pod.metadata.deletionTimestamp !== undefined) continue
    const left = parseTime(at) + disruptionTimeoutMs - now
    if (left <= 0) {
      overdue.push(pod)
      continue
    }
    disrupted[pod.metadata.name] = at
    recheckMs = Math.min(recheckMs ?? left, left)
  }
  return { disrupted, recheckMs, overdue }
}

/** The budget's conditions with ours, and those that somebody else has written. */
const withCondition = (
  budget: PodDisruptionBudget,
  wanted: Pick<Condition, 'status' | 'reason' | 'message'>,
  { now, generation }: { now: number; generation: number | undefined },
): Condition[] => {
  const type = 'DisruptionAllowed'
  return putCondition(budget.status?.conditions ?? [], {
    type,
    ...wanted,
    lastTransitionTime: sinceWhen(conditionOf(budget, type), wanted.status, formatTime(now)),
    ...(generation ? { observedGeneration: generation } : {}),
  })
}

export const budgetStatus = (
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  expectation: Expectation,
  now: number,
): { status: BudgetStatus } & Omit<Evictions, 'disrupted'> => {
  const { disrupted, recheckMs, overdue } = evictionsOf(budget, pods, now)
  const healthy = pods.filter(
    (pod) =>
      isPodReady(pod) &&
      pod.metadata.deletionTimestamp === undefined &&
      !Object.hasOwn(disrupted, pod.metadata.name),
  ).length
  const { desiredHealthy, expectedPods } = expectation
  const room = expectedPods <= 0 ? 0 : Math.max(0, healthy - desiredHealthy)
  return {
    recheckMs,
    overdue,
    status: {
      ...(Object.keys(disrupted).length > 0 ? { disruptedPods: disrupted } : {}),
      disruptionsAllowed: room,
      currentHealthy: healthy,
      desiredHealthy,
      expectedPods,
      observedGeneration: budget.metadata.generation ?? 0,
      conditions: withCondition(
        budget,
        room > 0
          ? { status: 'True', reason: 'SufficientPods', message: '' }
          : { status: 'False', reason: 'InsufficientPods', message: '' },
        { now, generation: budget.metadata.generation },
      ),
    },
  }
}

/** If the size is unknown no disruption is allowed (fail closed). Observed counts stay. */
export const failedStatus = (
  budget: PodDisruptionBudget,
  message: string,
  now: number,
): BudgetStatus => ({
  observedGeneration: 0,
  ...budget.status,
  disruptionsAllowed: 0,
  conditions: withCondition(
    budget,
    { status: 'False', reason: 'SyncFailed', message },
    { now, generation: budget.status?.observedGeneration },
  ),
})
