/** What a Pod needs against what the node has left; upstream: pkg/kubelet/lifecycle/predicate.go. */
import { isTerminalPhase } from '#api/pod-phase.js'
import { addAmounts, type MilliAmounts, parseAmounts } from '#client/amount.js'
import { arePortsTaken } from '#client/host-ports.js'
import { podWantsNode } from '#client/node-affinity.js'
import { type Amounts, type Taint, tolerates } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { operatingSystem } from './node/machine-platform.js'
import { isStatic, type Pod } from './pod.js'

export const podUnit = 1000n
/** Checked resources, with the number of thousandths in one unit of the message. */
const units = { pods: podUnit, cpu: 1n, memory: 1000n, 'ephemeral-storage': 1000n } as const
const osLabel = 'kubernetes.io/os'

export interface NodeFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly allocatable: Amounts
  /** Whether a Pod that asks for no groups but its own gets no others. */
  readonly hasStrictGroups: boolean
}

/** Why a node does not run a Pod: reason and message of its status. */
export interface Refusal {
  readonly reason: string
  readonly message: string
}

/** How much too little there is of a resource. */
export interface Shortage extends Refusal {
  readonly resource: string
  readonly milli: bigint
  /** Thousandths in one unit of a message. */
  readonly unit: bigint
}

export const isShortage = (refusal: Refusal): refusal is Shortage => 'resource' in refusal

const activeOthers = (pod: Pod, others: readonly Pod[]): Pod[] =>
  others.filter(
    (other) => other.metadata.uid !== pod.metadata.uid && !isTerminalPhase(other.status?.phase),
  )

const predicate = (name: string, why: string): Refusal => ({
  reason: name,
  message: `Predicate ${name} failed: ${why}`,
})

/** Other taints are for schedulers. */
const drivesAway = (taint: Taint, { spec }: Pod): boolean =>
  taint.effect === 'NoExecute' && !spec.tolerations?.some((one) => tolerates(one, taint))

/** Whether it hangs on what others write into the Node, of which the kubelet may know something old. */
export const isOfNode = ({ reason }: Refusal): boolean =>
  reason === 'NodeAffinity' || reason === 'TaintToleration'

/** What speaks against the Pod on any node of this kind. */
const mismatchOf = (pod: Pod, { hasStrictGroups }: NodeFacts): Refusal | undefined => {
  if ((pod.metadata.labels?.[osLabel] ?? operatingSystem) !== operatingSystem)
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`,
    }
  if ((pod.spec.os?.name ?? operatingSystem) !== operatingSystem)
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    }
  if (pod.spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !hasStrictGroups)
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    }
  return undefined
}

/** Everything for which the node cannot take the Pod; `others` are the Pods that it has. The first is told. */
export const refusalsOf = (pod: Pod, others: readonly Pod[], node: NodeFacts): Refusal[] => {
  const mismatch = mismatchOf(pod, node)
  if (mismatch) return [mismatch]
  const { name, labels, taints, allocatable } = node
  const refusals: Refusal[] = shortagesOf(pod, others, allocatable)
  if (!podWantsNode(pod, { metadata: { name, labels } }))
    refusals.push(predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector"))
  if (arePortsTaken(pod, activeOthers(pod, others)))
    refusals.push(
      predicate('NodePorts', "node(s) didn't have free ports for the requested pod ports"),
    )
  if (!isStatic(pod) && taints.some((taint) => drivesAway(taint, pod)))
    refusals.push(predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate"))
  return refusals
}

/** The resources of which the other Pods leave too little. */
export const shortagesOf = (pod: Pod, others: readonly Pod[], allocatable: Amounts): Shortage[] => {
  const active = activeOthers(pod, others)
  const capacity = parseAmounts(allocatable)
  const wanted: MilliAmounts = new Map(podRequests(pod)).set('pods', podUnit)
  const used: MilliAmounts = new Map()
  for (const other of active) addAmounts(used, podRequests(other))
  used.set('pods', BigInt(active.length) * podUnit)
  return Object.entries(units).flatMap(([resource, unit]) => {
    const amounts = {
      wanted: wanted.get(resource) ?? 0n,
      used: used.get(resource) ?? 0n,
      all: capacity.get(resource) ?? 0n,
    }
    const milli = amounts.wanted + amounts.used - amounts.all
    return amounts.wanted > 0n && milli > 0n
      ? [{ resource, milli, unit, ...outOf(resource, unit, amounts) }]
      : []
  })
}

const outOf = (
  resource: string,
  unit: bigint,
  { wanted, used, all }: { wanted: bigint; used: bigint; all: bigint },
): Refusal => ({
  reason: `OutOf${resource}`,
  message: `Node didn't have enough resource: ${resource}, requested: ${wanted / unit}, used: ${used / unit}, capacity: ${all / unit}`,
})
