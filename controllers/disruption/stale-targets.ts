/**
 * Resets the condition DisruptionTarget of a Pod that is not deleted after two minutes. Upstream: syncStalePodDisruption.
 */
import { formatTime, parseTime } from '#api/clock.js'
import { type Condition, conditionOf, putCondition } from '#api/conditions.js'
import { keyOf } from '#client/object-store.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type ControllerContext, newQueue, queueRun, type Run, syncStored } from '../controller.js'
import { updateStatus } from '../update-object.js'

const staleMs = 120_000
const targetType = 'DisruptionTarget'

/** Milliseconds since the epoch from which the mark means nothing; undefined when the Pod has none that can be wrong. */
export const staleAt = (pod: Pod): number | undefined => {
  const target = conditionOf(pod, targetType)
  // The kubelet's own condition is right, however long the end takes.
  if (target?.status !== 'True' || target.reason === 'TerminationByKubelet' || !isPodActive(pod))
    return undefined
  return (parseTime(target.lastTransitionTime ?? '') || 0) + staleMs
}

const sync = async (
  context: ControllerContext,
  pod: Pod,
): Promise<{ afterMs: number } | undefined> => {
  const now = context.clock.now()
  const at = staleAt(pod)
  if (at === undefined) return undefined
  if (at > now) return { afterMs: at - now }
  const { generation } = pod.metadata
  const stays: Condition = {
    type: targetType,
    status: 'False',
    ...(generation ? { observedGeneration: generation } : {}),
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  }
  const conditions = putCondition(pod.status.conditions!, stays)
  await updateStatus(context, resources.pods, pod, { ...pod.status, conditions })
  return undefined
}

export const followStaleTargets = (context: ControllerContext): Run => {
  const pods = context.informers.for<Pod>(resources.pods)
  const queue = newQueue(context, 'stale_pod_disruption')
  const add = (pod: Pod): void => {
    if (staleAt(pod) !== undefined) queue.add(keyOf(pod))
  }
  pods.handle({ onAdd: add, onUpdate: add })
  return queueRun(
    context,
    queue,
    syncStored(pods, (pod) => sync(context, pod)),
  )
}
