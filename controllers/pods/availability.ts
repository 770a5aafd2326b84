/** Ready, and ready for long enough. */
import { parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { isPodReady, type Pod } from '#client/pod.js'

export const isPodAvailable = (pod: Pod, minReadySeconds: number, now: number): boolean =>
  isPodReady(pod) && msUntilAvailable(pod, minReadySeconds, now) <= 0

/** Milliseconds until a ready Pod is available; infinite for one that is not ready. */
const msUntilAvailable = (pod: Pod, minReadySeconds: number, now: number): number => {
  const ready = conditionOf(pod, 'Ready')
  if (ready?.status !== 'True') return Number.POSITIVE_INFINITY
  if (minReadySeconds === 0) return 0
  return ready.lastTransitionTime
    ? parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 - now
    : 0
}

/** The next moment at which one of the Pods becomes available by waiting; undefined when none will. */
export const nextAvailabilityMs = (
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined => {
  const waits = pods
    .map((pod) => msUntilAvailable(pod, minReadySeconds, now))
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  return waits.length === 0 ? undefined : Math.min(...waits)
}
