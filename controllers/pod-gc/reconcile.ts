/** Pods that nobody else will ever take away (kubernetes, podgc/gc_controller.go). Pure. */

import { isNodeReady, isPodTerminal, isTerminating, type Node, type Pod } from '#client/pod.js'
import { isOutOfService } from '../attach-detach/attachments.js'
import { byAge } from '../by-age.js'

export interface Doomed {
  pod: Pod
  /** Shown as DisruptionTarget on the Pod. */
  condition?: { reason: string; message: string }
}
interface PodGcObservation {
  pods: readonly Pod[]
  nodes: ReadonlyMap<string, Node>
  /** Nodes that are known not to exist, by a live look after their quarantine. */
  absentNodes: ReadonlySet<string>
  terminatedThreshold: number
}

const isEvicted = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' && status.reason === 'Evicted'

/** Finished ones beyond the threshold: evicted first, then the oldest. Those that a finalizer holds back count, too. */
const terminatedSurplus = ({ pods, terminatedThreshold }: PodGcObservation): Doomed[] => {
  if (terminatedThreshold <= 0) return []
  const finished = pods.filter(isPodTerminal)
  const surplus = Math.max(0, finished.length - terminatedThreshold)
  return finished
    .sort((a, b) => Number(isEvicted(b)) - Number(isEvicted(a)) || byAge(a, b))
    .slice(0, surplus)
    .map((pod) => ({ pod }))
}

/** Somebody said that the node is off: what was ending there has ended. */
const onOutOfService = ({ pods, nodes }: PodGcObservation): Doomed[] =>
  pods
    .filter((pod) => {
      const node = nodes.get(pod.spec.nodeName ?? '')
      return isTerminating(pod) && node !== undefined && !isNodeReady(node) && isOutOfService(node)
    })
    .map((pod) => ({ pod }))

const orphaned = ({ pods, absentNodes }: PodGcObservation): Doomed[] =>
  pods
    .filter((pod) => pod.spec.nodeName && absentNodes.has(pod.spec.nodeName))
    .map((pod) => ({
      pod,
      condition: { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' },
    }))

const unscheduledTerminating = ({ pods }: PodGcObservation): Doomed[] =>
  pods.filter((pod) => isTerminating(pod) && !pod.spec.nodeName).map((pod) => ({ pod }))

export const findDoomed = (observed: PodGcObservation): Doomed[] => [
  ...terminatedSurplus(observed),
  ...onOutOfService(observed),
  ...orphaned(observed),
  ...unscheduledTerminating(observed),
]
