/** Changes of the cluster that may let in a Pod that fitted nowhere. Upstream: EventsToRegister of each plugin. */
import { matchesSelector } from '#api/label-selector.js'
import type { CsiNode } from '#client/csi-objects.js'
import { keyOf } from '#client/object-store.js'
import { type Claim, claimNames } from '#client/persistent-volume.js'
import type { Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { type ResourceClaim, resourceClaimKeys, resourceClaimsOf } from '#client/resource-claim.js'
import { jsonEqual } from '#json/object.js'
import { asHeld } from './held-requests.js'
import { type NamespaceLabels, requiredTerms, termMatchesPod } from './pod-affinity.js'
import { priorityOf } from './priority.js'
import { selectorOf } from './topology-spread.js'

/** Says of Pods that fitted nowhere whether a change may let them in. */
export type Concerns = (pod: Pod) => boolean

/** But for those that any change may help. */
export const nobody: Concerns = () => false

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
export const countedWith = (nominated: Pod): Concerns => {
  const most = priorityOf(nominated)
  return (pod) => priorityOf(pod) <= most
}

/** It came to its node, or is another neighbour there than before. */
export const isNewNeighbour = (pod: Pod, previous: Pod | undefined): boolean =>
  previous?.spec.nodeName === undefined || !jsonEqual(pod.metadata.labels, previous.metadata.labels)

const hardSpreads = ({ spec }: Pod) =>
  (spec.topologySpreadConstraints ?? []).filter((c) => c.whenUnsatisfiable === 'DoNotSchedule')

/** A node that goes makes a difference only to those that count what lies elsewhere. */
export const looksElsewhere: Concerns = (pod) =>
  requiredTerms(pod, 'podAffinity').length > 0 ||
  requiredTerms(pod, 'podAntiAffinity').length > 0 ||
  hardSpreads(pod).length > 0

/**
 * Of a new neighbour: a Pod wanted to be near to it, not near to what it was before, or counts it. Upstream:
 * isSchedulableAfterPodChange of InterPodAffinity and PodTopologySpread.
 */
export const helpedBy =
  (neighbour: Pod, previous: Pod | undefined, namespaces: NamespaceLabels): Concerns =>
  (pod) => {
    const before = previous?.spec.nodeName ? previous : undefined
    const isMet = (term: PodAffinityTerm, other: Pod | undefined): boolean =>
      other !== undefined && termMatchesPod(term, pod, other, namespaces)
    const isCounted = (spread: TopologySpreadConstraint, other: Pod | undefined): boolean =>
      other?.metadata.namespace === pod.metadata.namespace &&
      matchesSelector(selectorOf(spread, pod), other.metadata.labels)
    return (
      requiredTerms(pod, 'podAffinity').some((t) => isMet(t, neighbour) && !isMet(t, before)) ||
      requiredTerms(pod, 'podAntiAffinity').some((t) => isMet(t, before) && !isMet(t, neighbour)) ||
      hardSpreads(pod).some((one) => isCounted(one, neighbour) !== isCounted(one, before))
    )
  }

export const usesVolumeClaims: Concerns = (pod) => claimNames(pod).length > 0

export const usesVolumeClaim =
  ({ metadata }: Claim): Concerns =>
  (pod) =>
    pod.metadata.namespace === metadata.namespace && claimNames(pod).includes(metadata.name)

/** Upstream: isSchedulableAfterCSINodeUpdated of NodeVolumeLimits. */
export const takesMoreVolumes = ({ spec }: CsiNode, previous: CsiNode): boolean => {
  const countsOf = (node: CsiNode['spec']) =>
    (node.drivers ?? []).map(({ name, allocatable }) => [name, allocatable?.count ?? 0] as const)
  const before = new Map(countsOf(previous.spec))
  return countsOf(spec).some(([name, count]) => count > (before.get(name) ?? 0))
}

/** Devices may also be asked for as an extended resource. */
export const asksForDevices: Concerns = (pod) =>
  resourceClaimsOf(pod).length > 0 ||
  [...podRequests(pod).keys()].some((name) => name.includes('/'))

/** What decides whether the claim can be used, and by whom. */
const decisiveOf = ({ metadata, status }: ResourceClaim) => [metadata.ownerReferences, status]

/** Devices that a claim gives back help others, too. Upstream: isSchedulableAfterClaimChange. */
export const concernedBy = (claim: ResourceClaim, previous: ResourceClaim): Concerns => {
  if (previous.status?.allocation !== undefined && claim.status?.allocation === undefined)
    return asksForDevices
  return jsonEqual(decisiveOf(claim), decisiveOf(previous)) ? nobody : usesDevices(claim)
}

export const usesDevices =
  (claim: ResourceClaim): Concerns =>
  (pod) =>
    resourceClaimKeys(pod).includes(keyOf(claim))
