/** A Pod that the kubelet itself ends: its node shuts down, or it uses more than it may. */
import { sleep } from '#async/sleep.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Pod, PodCondition } from './pod.js'

export interface ForcedEnd {
  /** Reason and message of the status once it has ended, unless it has succeeded. */
  readonly reason: string
  readonly message: string
  readonly graceSeconds: number
  /** It is not the Pod's own fault: what its condition DisruptionTarget says. */
  readonly disruption?: string
}

/** That condition; upstream's PodReasonTerminationByKubelet. */
export const disruptionOf = (
  message: string,
): Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'> => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'TerminationByKubelet',
  message,
})

export const isKubeletsDisruption = ({ type, reason }: PodCondition): boolean =>
  type === 'DisruptionTarget' && reason === 'TerminationByKubelet'

/** A Pod that runs here. */
export interface Endable {
  readonly pod: Pod
  /** Resolves when no container is left. */
  forceEnd(end: ForcedEnd): Promise<void>
}

/** Waits for its end as long as upstream does, and tells if that was too short (killPodNow). */
export const endInTime = async (
  one: Endable,
  end: ForcedEnd,
  events: EventRecorder,
): Promise<void> => {
  const over = new AbortController()
  const seconds = Math.max(10, end.graceSeconds + Math.trunc(end.graceSeconds / 2))
  const late = sleep(seconds * 1000, over.signal).then(() => !over.signal.aborted)
  try {
    const isLate = await Promise.race([one.forceEnd(end).then(() => false), late])
    if (isLate)
      events.event(
        one.pod,
        'Warning',
        'ExceededGracePeriod',
        'Container runtime did not kill the pod within specified grace period.',
      )
  } finally {
    over.abort()
  }
}
