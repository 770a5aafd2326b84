/**
 * Attachments that we have taken back and that are still there, since their driver has not let go yet. While it has its
 * time another node waits for the volume in silence. When it fails, or is too late, nobody knows who has the volume: other
 * nodes may try. Upstream: the operation volume_detach, and MarkVolumeAsUncertain.
 */
import type { Clock } from '#api/clock.js'
import type { VolumeAttachment } from '#client/csi-objects.js'
import { remainingMs } from './asked.js'

export class Detaching {
  readonly #clock: Clock
  /** By uid, as a new one may have the same name. */
  readonly #since = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin({ metadata }: VolumeAttachment): void {
    this.#since.set(metadata.uid, this.#clock.now())
  }

  end({ metadata }: VolumeAttachment): void {
    this.#since.delete(metadata.uid)
  }

  has({ metadata }: VolumeAttachment): boolean {
    return this.#since.has(metadata.uid)
  }

  /** How much of its time the driver has left; 0: it has failed, is too late or was not asked by us. */
  leftMs({ metadata, status }: VolumeAttachment): number {
    const since = this.#since.get(metadata.uid)
    if (since === undefined || status?.detachError !== undefined) return 0
    return remainingMs(since, this.#clock)
  }

  /** It has failed, or is too late. */
  isStuck(attachment: VolumeAttachment): boolean {
    return this.has(attachment) && this.leftMs(attachment) === 0
  }
}
