/**
 * Makes room for a Pod of higher priority: on each node that others fill, the fewest and least important of them that
 * have to go. Victims end gracefully; the Pod comes back when they are gone. Upstream: defaultpreemption.
 */
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import type { Refused } from './decide.js'
import { refuse } from './filters.js'
import type { NodeInfo } from './node-info.js'
import type { ClusterView } from './pod-affinity.js'

export interface Preemption {
  node: string
  victims: Pod[]
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

/** Takes all lesser Pods away, then gives back as many as fit, the important ones first. */
const victimsOn = (pod: Pod, info: NodeInfo, view: ClusterView): Pod[] | undefined => {
  const lesser = [...info.pods.values()].filter((p) => priorityOf(p) < priorityOf(pod))
  if (lesser.length === 0) return undefined
  const trial = info.without(new Set(lesser.map(keyOf)))
  const trialView = viewWith(view, trial)
  if (refuse(pod, trial, trialView) !== undefined) return undefined
  const victims: Pod[] = []
  for (const candidate of lesser.sort(byImportance)) {
    trial.addPod(candidate)
    if (refuse(pod, trial, trialView) === undefined) continue
    trial.removePod(keyOf(candidate))
    victims.push(candidate)
  }
  return victims
}

/** Lower compares as better: highest victim's priority, their sum, their number. */
const cost = (victims: readonly Pod[]): number[] => [
  Math.max(...victims.map(priorityOf), Number.NEGATIVE_INFINITY),
  victims.reduce((sum, v) => sum + priorityOf(v) + 2 ** 31, 0),
  victims.length,
]
const compare = (a: number[], b: number[]): number => {
  for (const [i, value] of a.entries()) if (value !== b[i]) return value - b[i]!
  return 0
}

/** The node where least is lost, or undefined when no victims would help. */
export const findPreemption = (
  pod: Pod,
  refused: readonly Refused[],
  view: ClusterView,
): Preemption | undefined => {
  if (pod.spec.preemptionPolicy === 'Never') return undefined
  let best: { preemption: Preemption; cost: number[] } | undefined
  for (const { info, refusal } of refused) {
    if (refusal.hopeless) continue
    const victims = victimsOn(pod, info, view)
    if (victims === undefined || victims.length === 0) continue
    const found = { preemption: { node: info.node!.metadata.name!, victims }, cost: cost(victims) }
    if (best === undefined || compare(found.cost, best.cost) < 0) best = found
  }
  return best?.preemption
}
