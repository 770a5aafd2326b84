/**
 * When the change behind an endpoint change happened: a Pod's readiness, or the Service's creation. Network programs see
 * their latency by the annotation. Upstream: TriggerTimeTracker.
 */
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'

export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

export class TriggerTimes {
  /** Service → Pod → when its readiness last changed. */
  readonly #known = new Map<string, Map<string, string>>()

  /** The earliest change since the last call; of a Service that is new, its creation. */
  take(service: PersistedObject, pods: readonly Pod[]): string | undefined {
    const before = this.#known.get(keyOf(service))
    const times = new Map<string, string>()
    let earliest: string | undefined
    for (const pod of pods) {
      const time = conditionOf(pod, 'Ready')?.lastTransitionTime
      if (!time) continue
      times.set(pod.metadata.name, time)
      const isNew = time > (before?.get(pod.metadata.name) ?? '')
      if (isNew && (earliest === undefined || time < earliest)) earliest = time
    }
    this.#known.set(keyOf(service), times)
    return before === undefined ? (service.metadata.creationTimestamp ?? undefined) : earliest
  }
  forget(serviceKey: string): void {
    this.#known.delete(serviceKey)
  }
}

/** Nothing is said of a change that began with neither. */
export const withTriggerTime = (
  annotations: Record<string, string> | undefined,
  time: string | undefined,
): Record<string, string> => {
  const { [triggerTimeAnnotation]: _old, ...rest } = annotations ?? {}
  return time === undefined ? rest : { ...rest, [triggerTimeAnnotation]: time }
}
