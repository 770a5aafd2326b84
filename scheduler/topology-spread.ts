/** topologySpreadConstraints: how unevenly the Pods of a selector may lie over the values of a node label. */
import { matchesSelector } from '#client/label-selector.js'
import { podWantsNode } from '#client/node-affinity.js'
import type { Pod, TopologySpreadConstraint } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'
import type { ClusterView } from './pod-affinity.js'

/** Matching Pods for each value of the key, over the nodes that the Pod could use at all. */
const countDomains = (
  constraint: TopologySpreadConstraint,
  pod: Pod,
  view: ClusterView,
): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const info of view.nodes) {
    const domain = info.node?.metadata.labels?.[constraint.topologyKey]
    if (info.node === undefined || domain === undefined || !podWantsNode(pod, info.node)) continue
    let count = counts.get(domain) ?? 0
    for (const other of info.pods.values())
      if (
        other.metadata.namespace === pod.metadata.namespace &&
        other.metadata.deletionTimestamp === undefined &&
        matchesSelector(constraint.labelSelector, other.metadata.labels)
      )
        count++
    counts.set(domain, count)
  }
  return counts
}

const skewAfter = (
  constraint: TopologySpreadConstraint,
  pod: Pod,
  info: NodeInfo,
  view: ClusterView,
): number | undefined => {
  const domain = info.node?.metadata.labels?.[constraint.topologyKey]
  if (domain === undefined) return undefined
  const counts = countDomains(constraint, pod, view)
  const least = counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values())
  const self = matchesSelector(constraint.labelSelector, pod.metadata.labels) ? 1 : 0
  return (counts.get(domain) ?? 0) + self - least
}

export const spreadProblem = (
  pod: Pod,
  info: NodeInfo,
  view: ClusterView,
): 'missing label' | 'skew' | undefined => {
  for (const constraint of pod.spec.topologySpreadConstraints ?? []) {
    if (constraint.whenUnsatisfiable !== 'DoNotSchedule') continue
    const skew = skewAfter(constraint, pod, info, view)
    if (skew === undefined) return 'missing label'
    if (skew > constraint.maxSkew) return 'skew'
  }
  return undefined
}

/** Lower is better: the sum of skews over the constraints that only wish. */
export const spreadCost = (pod: Pod, info: NodeInfo, view: ClusterView): number =>
  (pod.spec.topologySpreadConstraints ?? [])
    .filter((c) => c.whenUnsatisfiable === 'ScheduleAnyway')
    .reduce((sum, c) => sum + (skewAfter(c, pod, info, view) ?? 0), 0)
