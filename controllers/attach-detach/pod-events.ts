/** Tells Pods how it goes with their volumes, in upstream's words. */
import type { EventRecorder } from '#client/event-recorder.js'
import type { Pod } from '#client/pod.js'
import { takenBy, type Wanted } from './attachments.js'

export class PodEvents {
  readonly #recorder: EventRecorder

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder
  }

  attached({ pods, volume }: Wanted): void {
    const name = JSON.stringify(volume.metadata.name)
    const message = `AttachVolume.Attach succeeded for volume ${name} `
    for (const pod of pods) this.#recorder.event(pod, 'Normal', 'SuccessfulAttachVolume', message)
  }

  failed(wanted: Wanted, problem: string): void {
    const name = JSON.stringify(wanted.volume.metadata.name)
    this.#warn(wanted, () => `AttachVolume.Attach failed for volume ${name} : ${problem}`)
  }

  /** `users` have the volume on another node. */
  taken(wanted: Wanted, users: readonly Pod[]): void {
    const name = JSON.stringify(wanted.volume.metadata.name)
    this.#warn(wanted, (pod) => `Multi-Attach error for volume ${name} ${takenBy(pod, users)}`)
  }

  #warn({ pods }: Wanted, messageFor: (pod: Pod) => string): void {
    for (const pod of pods)
      this.#recorder.event(pod, 'Warning', 'FailedAttachVolume', messageFor(pod))
  }
}
