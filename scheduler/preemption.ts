/**
 * Makes room for a Pod of higher priority: on each node that others fill, the fewest and least important of them that
 * have to go. Victims end gracefully; the Pod comes back when they are gone. Upstream: defaultpreemption.
 */
import { parseTime } from '#api/clock.js'
import { isEmptySelector, type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { Refused } from './decide.js'
import { refuse } from './filters.js'
import type { NodeInfo } from './node-info.js'

export interface Preemption {
  node: string
  victims: Pod[]
}
export interface Budget extends KubeObject {
  spec: { selector?: LabelSelector }
  status: { disruptionsAllowed?: number; disruptedPods?: Record<string, string> }
}

const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0

/** More important first: priority, then who has run longer. */
const byImportance = (a: Pod, b: Pod): number =>
  priorityOf(b) - priorityOf(a) ||
  (a.status.startTime ?? '9').localeCompare(b.status.startTime ?? '9')

const viewWith = (view: ClusterView, changed: NodeInfo): ClusterView => ({
  ...view,
  nodes: [...view.nodes].map((info) =>
    info.node?.metadata.name === changed.node?.metadata.name ? changed : info,
  ),
})

/** Those whose going would break a budget's promise, taken one after the other. */
const guardedBy = (budgets: readonly Budget[], pods: readonly Pod[]): Set<Pod> => {
  const left = new Map(budgets.map((b) => [b, b.status?.disruptionsAllowed ?? 0]))
  const guarded = new Set<Pod>()
  for (const pod of pods)
    for (const budget of budgets) {
      const { selector } = budget.spec
      if (budget.metadata.namespace !== pod.metadata.namespace || isEmptySelector(selector))
        continue
      if (!matchesSelector(selector, pod.metadata.labels)) continue
      // Its end is granted and counted already.
      if (budget.status?.disruptedPods?.[pod.metadata.name!] !== undefined) continue
      left.set(budget, left.get(budget)! - 1)
      if (left.get(budget)! < 0) guarded.add(pod)
    }
  return guarded
}

interface Victims {
  pods: Pod[]
  /** Among them those that a budget guards. */
  violations: number
}

/** Takes all lesser Pods away, then gives back as many as fit: guarded ones first, then the important ones. */
const victimsOn = (
  pod: Pod,
  info: NodeInfo,
  view: ClusterView,
  budgets: readonly Budget[],
): Victims | undefined => {
  const lesser = [...info.pods.values()].filter((p) => priorityOf(p) < priorityOf(pod))
  if (lesser.length === 0) return undefined
  const trial = info.without(new Set(lesser.map(keyOf)))
  const trialView = viewWith(view, trial)
  if (refuse(pod, trial, trialView) !== undefined) return undefined
  lesser.sort(byImportance)
  const guarded = guardedBy(budgets, lesser)
  const victims: Victims = { pods: [], violations: 0 }
  const inOrder = [
    ...lesser.filter((p) => guarded.has(p)),
    ...lesser.filter((p) => !guarded.has(p)),
  ]
  for (const candidate of inOrder) {
    trial.addPod(candidate)
    if (refuse(pod, trial, trialView) === undefined) continue
    trial.removePod(keyOf(candidate))
    victims.pods.push(candidate)
    if (guarded.has(candidate)) victims.violations++
  }
  victims.pods.sort(byImportance)
  return victims
}

/**
 * Lower compares as better: broken budgets, highest victim's priority, their sum, their number; at last the node whose
 * most important victim has run for the shortest time.
 */
const cost = ({ pods, violations }: Victims): number[] => {
  const highest = Math.max(...pods.map(priorityOf))
  const started = pods
    .filter((p) => priorityOf(p) === highest)
    .map((p) => parseTime(p.status.startTime ?? '') || 0)
  return [
    violations,
    highest,
    pods.reduce((sum, v) => sum + priorityOf(v) + 2 ** 31, 0),
    pods.length,
    -Math.min(...started),
  ]
}
const compare = (a: number[], b: number[]): number => {
  for (const [i, value] of a.entries()) if (value !== b[i]) return value - b[i]!
  return 0
}

/** The node where least is lost, or undefined when no victims would help. */
export const findPreemption = (
  pod: Pod,
  refused: readonly Refused[],
  view: ClusterView,
  budgets: readonly Budget[] = [],
): Preemption | undefined => {
  if (pod.spec.preemptionPolicy === 'Never') return undefined
  let best: { preemption: Preemption; cost: number[] } | undefined
  for (const { info, refusal } of refused) {
    if (refusal.hopeless) continue
    const victims = victimsOn(pod, info, view, budgets)
    if (victims === undefined || victims.pods.length === 0) continue
    const preemption = { node: info.node!.metadata.name!, victims: victims.pods }
    const found = { preemption, cost: cost(victims) }
    if (best === undefined || compare(found.cost, best.cost) < 0) best = found
  }
  return best?.preemption
}
