/** oom_score_adj of containers; upstream: pkg/kubelet/qos/policy.go. */
import { podRequests } from '#client/pod-requests.js'
import { type ContainerSpec, isCritical, isSidecar, type Pod } from './pod.js'
import { amountOf } from './resource-amount.js'

const scores = { guaranteed: -997, mostBurstable: 3, bestEffort: 1000 } as const

const memoryOf = ({ resources }: Pick<ContainerSpec, 'resources'>): number =>
  amountOf(resources?.requests?.memory ?? 0)

const isNodeCritical = (pod: Pod): boolean =>
  isCritical(pod) && pod.spec.priorityClassName === 'system-node-critical'

/** A container's equal part of what the Pod requests beyond its containers. */
const shareOfRest = (pod: Pod): number => {
  const { containers, initContainers = [], resources } = pod.spec
  const ofPod = amountOf(resources?.requests?.memory ?? 0)
  if (ofPod === 0) return 0
  const { resources: _, overhead: __, ...spec } = pod.spec
  const asked = Number(podRequests({ ...pod, spec }).get('memory') ?? 0n) / 1000
  return Math.trunc((ofPod - asked) / (containers.length + initContainers.length))
}

export const oomScoreOf = (pod: Pod, container: ContainerSpec, capacityBytes: number): number => {
  const { qosClass } = pod.status ?? {}
  if (isNodeCritical(pod) || qosClass === 'Guaranteed') return scores.guaranteed
  if (qosClass === 'BestEffort') return scores.bestEffort
  const rest = shareOfRest(pod)
  const scoreOf = (bytes: number) => 1000 - Math.trunc((1000 * (bytes + rest)) / capacityBytes)
  const least = Math.min(...pod.spec.containers.map(memoryOf))
  const own = scoreOf(memoryOf(container))
  const isBeside = (pod.spec.initContainers ?? []).includes(container) && isSidecar(container)
  const score = isBeside ? Math.min(own, scoreOf(least)) : own
  return Math.min(scores.bestEffort - 1, Math.max(scores.mostBurstable, score))
}
