/** Changes of the cluster that may let in a Pod that fitted nowhere. Upstream: EventsToRegister of each plugin. */
import type { Node, Pod } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { jsonEqual } from '#json/object.js'
import { asHeld } from './held-requests.js'
import { requiredTerms } from './pod-affinity.js'
import { priorityOf } from './priority.js'

/** Heartbeats change a node every few seconds; only these parts decide where Pods fit. */
const decisivePartsOf = ({ spec, metadata, status }: Node) => [
  spec,
  metadata.labels,
  status.allocatable,
  status.declaredFeatures,
]
export const nodeMayFit = (node: Node, previous: Node): boolean =>
  !jsonEqual(decisivePartsOf(node), decisivePartsOf(previous))

const remarksOf = ({ metadata, status }: Node) => [
  metadata.annotations,
  (status.conditions ?? []).map((condition) => [condition.type, condition.status]),
]
/** Of a node on which no other Pods fit than before. Upstream: nodeSchedulingPropertiesChange. */
export const saysMore = (node: Node, previous: Node): boolean =>
  !jsonEqual(remarksOf(node), remarksOf(previous))

/** What is on a node takes less of something than before. */
export const leavesRoom = (pod: Pod, previous: Pod): boolean => {
  const now = podRequests(asHeld(pod))
  return [...podRequests(asHeld(previous))].some(([name, before]) => (now.get(name) ?? 0n) < before)
}

/** Pods that counted the one as if it ran where it had made room for itself. Upstream: getLEPriorityPreCheck. */
export const countedWith = (nominated: Pod): ((pod: Pod) => boolean) => {
  const most = priorityOf(nominated)
  return (pod) => priorityOf(pod) <= most
}

/** It came to its node, or is another neighbour there than before. */
export const isNewNeighbour = (pod: Pod, previous: Pod | undefined): boolean =>
  previous?.spec.nodeName === undefined || !jsonEqual(pod.metadata.labels, previous.metadata.labels)

/** Only to those that look at others a new neighbour makes a difference. */
export const looksAtNeighbours = (pod: Pod): boolean =>
  requiredTerms(pod, 'podAffinity').length > 0 ||
  requiredTerms(pod, 'podAntiAffinity').length > 0 ||
  (pod.spec.topologySpreadConstraints ?? []).some((c) => c.whenUnsatisfiable === 'DoNotSchedule')
