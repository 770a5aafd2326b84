/** Conditions of a pod's status, as upstream's podutil.UpdatePodCondition sets them. */
import { formatTime } from '#api/clock.js'
import { copyWith } from '#api/copy-with.js'
import type { KubeObject } from '#api/object.js'

export interface PodCondition {
  type: string
  status: string
  reason?: string
  message?: string
}

/** Changes `pod`. The time of transition moves with the status only. */
export const setPodCondition = (pod: KubeObject, condition: PodCondition, now: number): void => {
  const conditions: Record<string, unknown>[] = [...(pod.status?.conditions ?? [])]
  const at = conditions.findIndex((c) => c.type === condition.type)
  const before = at < 0 ? undefined : conditions[at]
  const { type, status, ...why } = condition
  const next = {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : formatTime(now),
    ...why,
  }
  if (at < 0) conditions.push(next)
  else conditions[at] = next
  pod.status = copyWith(pod.status ?? {}, { conditions })
}
