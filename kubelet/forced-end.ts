/** A Pod that the kubelet itself ends: its node shuts down, or it uses more than it may. */
import type { PodCondition } from './pod.js'

export interface ForcedEnd {
  /** Reason and message of the status once it has ended, unless it has succeeded. */
  readonly reason: string
  readonly message: string
  readonly graceSeconds: number
  /** Not the Pod's own fault: it gets the condition DisruptionTarget. */
  readonly isDisruption: boolean
}

/** That condition; upstream's PodReasonTerminationByKubelet. */
export const disruptionOf = ({
  message,
}: ForcedEnd): Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'> => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'TerminationByKubelet',
  message,
})

export const isKubeletsDisruption = ({ type, reason }: PodCondition): boolean =>
  type === 'DisruptionTarget' && reason === 'TerminationByKubelet'
