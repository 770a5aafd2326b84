/** Ready, and ready for long enough. */
import { parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { keyOf } from '#client/object-store.js'
import { isPodReady, type Pod } from '#client/pod.js'
import type { WorkQueue } from '#client/work-queue.js'

export const isPodAvailable = (pod: Pod, minReadySeconds: number, now: number): boolean =>
  isPodReady(pod) && msUntilAvailable(pod, minReadySeconds, now) <= 0

/** Milliseconds until a ready Pod is available; infinite for one that is not ready, or does not say since when it is. */
const msUntilAvailable = (pod: Pod, minReadySeconds: number, now: number): number => {
  const ready = conditionOf(pod, 'Ready')
  if (ready?.status !== 'True') return Number.POSITIVE_INFINITY
  if (minReadySeconds === 0) return 0
  return ready.lastTransitionTime
    ? parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 - now
    : Number.POSITIVE_INFINITY
}

/** Until one of the Pods becomes available by waiting; undefined when none will. */
const nextAvailabilityMs = (
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined => {
  const waits = pods
    .map((pod) => msUntilAvailable(pod, minReadySeconds, now))
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  return waits.length === 0 ? undefined : Math.min(...waits)
}

type Owner = PersistedObject & { spec: { minReadySeconds?: number } }

/** The owner comes again when its next Pod is available, also from a round that fails: the back-off may be longer. */
export const lookWhenAvailable = (
  queue: WorkQueue,
  owner: Owner,
  pods: readonly Pod[],
  now: number,
): void => {
  const ms = nextAvailabilityMs(pods, owner.spec.minReadySeconds ?? 0, now)
  if (ms !== undefined) queue.addAfter(keyOf(owner), ms)
}
