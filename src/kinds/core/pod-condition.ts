/** Conditions of a pod's status, as upstream's podutil.UpdatePodCondition sets them. */
import { formatTime } from '#api/clock.js'
import { type Condition, conditionOf, putCondition } from '#api/conditions.js'
import type { KubeObject } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'

type PodCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Changes `pod`. The time of transition moves with the status only. */
export const setPodCondition = (pod: KubeObject, condition: PodCondition, now: number): void => {
  const before = conditionOf(pod, condition.type)
  const { type, status, ...why } = condition
  const next = {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : formatTime(now),
    ...why,
  }
  const conditions = putCondition(pod.status?.conditions ?? [], next)
  pod.status = copyWith(pod.status ?? {}, { conditions })
}
