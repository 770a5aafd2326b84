/**
 * Which Pods would have to leave a node for one of higher priority, and how much that costs. Upstream:
 * SelectVictimsOnNode.
 */

import { parseTime } from '#api/clock.js'
import { isEmptySelector, type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { compareTexts } from '#go/compare-texts.js'
import { getOwn } from '#json/object.js'
import type { ClusterView } from './cluster-state.js'
import { type Filters, type Refusal, Trial } from './filter.js'
import type { NodeInfo } from './node-info.js'
import { priorityOf } from './priority.js'

export interface Budget extends NamespacedObject {
  spec: { selector?: LabelSelector }
  status: { disruptionsAllowed?: number; disruptedPods?: Record<string, string> }
}

/** More important first: by priority, then by how long they have run. */
const byImportance = (a: Pod, b: Pod): number =>
  priorityOf(b) - priorityOf(a) ||
  compareTexts(a.status.startTime ?? '9', b.status.startTime ?? '9')

/** Those whose going would break a budget's promise, taken one after the other. */
const guardedBy = (budgets: readonly Budget[], pods: readonly Pod[]): Set<Pod> => {
  const left = new Map(budgets.map((b) => [b, b.status?.disruptionsAllowed ?? 0]))
  const guarded = new Set<Pod>()
  // As upstream, a Pod without labels is in no budget, whatever that selects.
  for (const pod of pods.filter(({ metadata }) => Object.keys(metadata.labels ?? {}).length > 0))
    for (const budget of budgets) {
      const { selector } = budget.spec
      if (budget.metadata.namespace !== pod.metadata.namespace || isEmptySelector(selector))
        continue
      if (!matchesSelector(selector, pod.metadata.labels)) continue
      // Its eviction is granted and counted already.
      if (getOwn(budget.status?.disruptedPods, pod.metadata.name) !== undefined) continue
      left.set(budget, left.get(budget)! - 1)
      if (left.get(budget)! < 0) guarded.add(pod)
    }
  return guarded
}

export interface Victims {
  /** The most important first. */
  pods: Pod[]
  /** Among them those that a budget guards. */
  violations: number
}

interface Situation {
  view: ClusterView
  filters: Filters
  budgets: readonly Budget[]
}

/**
 * Takes all lesser Pods away, then gives back as many as fit: guarded ones first, then the important ones. What still
 * refuses the Pod when all are gone is the answer then.
 */
export const victimsOn = (
  pod: Pod,
  info: NodeInfo,
  { view, filters, budgets }: Situation,
): Victims | Refusal => {
  const lesser = [...info.pods.values()].filter((p) => priorityOf(p) < priorityOf(pod))
  if (lesser.length === 0)
    return { reasons: ['No preemption victims found for incoming pod'], hopeless: true }
  const nominated = view.nominatedTo(info)
  const trial = new Trial(filters, info)
  for (const other of lesser) trial.remove(other)
  const refusal = trial.refuse(nominated)
  if (refusal !== undefined) return refusal
  lesser.sort(byImportance)
  const guarded = guardedBy(budgets, lesser)
  const victims: Victims = { pods: [], violations: 0 }
  const inOrder = [
    ...lesser.filter((p) => guarded.has(p)),
    ...lesser.filter((p) => !guarded.has(p)),
  ]
  for (const candidate of inOrder) {
    trial.add(candidate)
    if (trial.refuse(nominated) === undefined) continue
    trial.remove(candidate)
    victims.pods.push(candidate)
    if (guarded.has(candidate)) victims.violations++
  }
  victims.pods.sort(byImportance)
  return victims
}

/** One that its kubelet has not seen yet starts now at the earliest, later than all others. Upstream: GetPodStartTime. */
const notStarted = Number.POSITIVE_INFINITY

/**
 * Lower compares as better: broken budgets, highest victim's priority, their sum, their number; at last the node whose
 * most important victim has run for the shortest time.
 */
const costOf = ({ pods, violations }: Victims): number[] => {
  const highest = Math.max(...pods.map(priorityOf))
  const started = pods
    .filter((p) => priorityOf(p) === highest)
    .map(({ status }) => (status.startTime ? parseTime(status.startTime) : notStarted))
  return [
    violations,
    highest,
    pods.reduce((sum, v) => sum + priorityOf(v) + 2 ** 31, 0),
    pods.length,
    -Math.min(...started),
  ]
}

/** Below zero when losing `a` is better than losing `b`. */
export const compareVictims = (a: Victims, b: Victims): number => {
  const other = costOf(b)
  for (const [i, value] of costOf(a).entries()) if (value !== other[i]) return value - other[i]!
  return 0
}
