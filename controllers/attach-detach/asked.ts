/**
 * Attachments that a driver was asked for and has not answered yet: until it does, or has had its time, nothing else is
 * done about the volume. Upstream: a pending operation, which reconciler and operation_generator know, ended by csiTimeout.
 */
import type { Clock } from '#api/clock.js'
import type { VolumeAttachment } from '#client/csi-objects.js'
import type { Wanted } from './attachments.js'

/** How long a driver may take to attach a volume before the Pods are told. */
const attachWaitMs = 120_000

export class Asked {
  readonly #clock: Clock
  readonly #asked = new Map<string, { sinceMs: number; entry: Wanted }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** For the Pods that want it now: they are told how it went, even if they have ended by then. */
  begin(entry: Wanted): void {
    this.#asked.set(entry.name, { sinceMs: this.#clock.now(), entry })
  }

  end(name: string): void {
    this.#asked.delete(name)
  }

  for(name: string): Wanted | undefined {
    return this.#asked.get(name)?.entry
  }

  /** How much of its time the driver has left; 0: it has answered, was not asked by us, or is too late. */
  leftMs({ metadata, status }: VolumeAttachment): number {
    const asked = this.#asked.get(metadata.name)
    if (asked === undefined || status?.attached || status?.attachError) return 0
    return Math.max(0, asked.sinceMs + attachWaitMs - this.#clock.now())
  }
}
