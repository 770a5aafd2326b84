import { controllerRefOf } from '#api/controller-ref.js'
import type { PersistedObject } from '#api/object.js'
import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Informer } from '#client/informer.js'
import type { Pod } from '#client/pod.js'
import type { WorkQueue } from '#client/work-queue.js'

/** A Pod whose claim went away may need another. */
export const enqueuePodOfLostClaim = <T extends PersistedObject>(
  claims: Informer<T>,
  queue: WorkQueue,
): void => {
  claims.handle({
    onDelete(claim) {
      const owner = controllerRefOf(claim)
      if (owner?.kind === 'Pod') queue.add(`${claim.metadata.namespace}/${owner.name}`)
    },
  })
}

interface Complaint {
  recorder: EventRecorder
  pod: Pod
  reason: string
  /** Which of the Pod's claims it is about. */
  about: string
}

/** Does what may fail; then the Pod tells of it, unless all of its namespace goes. */
export const orTellOf = async <T>(
  { recorder, pod, reason, about }: Complaint,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (!isNamespaceTerminating(error))
      recorder.event(pod, 'Warning', reason, `${about}: ${messageOf(error)}`)
    throw error
  }
}
