/** Writes a condition into a Pod's status, and nothing else. */
import { formatTime } from '#api/clock.js'
import { type Condition, conditionOf, sinceWhen } from '#api/conditions.js'
import { conditionPatch, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'

interface PodStatusChange {
  phase?: string
  condition?: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>
  /** The condition is about what the spec says now. Not so when only the node is judged. */
  observed?: boolean
}

/** Strategic merge by the condition's type, with the uid as precondition; nothing is sent when nothing changes. */
export const patchPodStatus = async (
  { client, clock }: ControllerContext,
  pod: Pod,
  { phase, condition, observed = true }: PodStatusChange,
): Promise<void> => {
  const known = condition && conditionOf(pod, condition.type)
  const changed =
    condition !== undefined &&
    (known?.status !== condition.status ||
      known.reason !== condition.reason ||
      known.message !== condition.message)
  if (!changed && (phase === undefined || pod.status?.phase === phase)) return
  const { namespace, name, uid, generation } = pod.metadata
  const seen = generation ? { observedGeneration: generation } : {}
  await client.patch(
    resources.pods,
    { namespace, name },
    {
      metadata: { uid },
      status: {
        ...(phase ? { phase, ...seen } : {}),
        ...(changed
          ? conditionPatch(pod, {
              ...condition,
              ...(observed ? seen : {}),
              lastTransitionTime: sinceWhen(known, condition.status, formatTime(clock.now())),
            })
          : {}),
      },
    },
    { type: 'strategic', subresource: 'status' },
  )
}
