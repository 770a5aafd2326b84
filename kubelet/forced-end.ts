/** The kubelet itself ends a Pod that would go on: its node goes down, or it uses more than it may. */
import type { PodCondition } from './pod.js'

export interface ForcedEnd {
  /** Said of it once it has ended, unless it has succeeded all the same. */
  readonly reason: string
  readonly message: string
  readonly graceSeconds: number
  /** It was no fault of the Pod's own, and the condition DisruptionTarget says so. */
  readonly isDisruption: boolean
}

/** What that condition says; upstream's PodReasonTerminationByKubelet. */
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
