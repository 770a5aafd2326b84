/**
 * Attachments that a driver was asked for and has not answered yet: until it does, or has had its time, nothing else is
 * done about the volume. Upstream: a pending operation, which reconciler and operation_generator know, ended by csiTimeout.
 */
import type { Clock } from '#api/clock.js'
import type { VolumeAttachment } from '#client/csi-objects.js'
import type { Wanted } from './attachments.js'

/** How long a driver may take to attach a volume before the Pods are told, or to detach it. Upstream: csiTimeout. */
const driverWaitMs = 120_000

/** How much of its time a driver has left that was asked then. */
export const remainingMs = (sinceMs: number, clock: Clock): number =>
  Math.max(0, sinceMs + driverWaitMs - clock.now())

interface Question {
  readonly sinceMs: number
  readonly entry: Wanted
}

export class Asked {
  readonly #clock: Clock
  readonly #asked = new Map<string, Question>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Pods that want it meanwhile are told how it went, even if they have ended by then. */
  begin(entry: Wanted): void {
    const known = this.#asked.get(entry.name)
    const before = known?.entry.pods ?? []
    const uids = new Set(before.map(({ metadata }) => metadata.uid))
    const pods = [...before, ...entry.pods.filter(({ metadata }) => !uids.has(metadata.uid))]
    const sinceMs = known?.sinceMs ?? this.#clock.now()
    this.#asked.set(entry.name, { sinceMs, entry: { ...entry, pods } })
  }

  end(name: string): void {
    this.#asked.delete(name)
  }

  for(name: string): Wanted | undefined {
    return this.#asked.get(name)?.entry
  }

  /** How long it may take until the driver has answered for another node, whose attachment may not even be made yet. */
  elsewhereMs({ name, volume }: Wanted): number {
    const left = [...this.#asked.values()]
      .filter(({ entry }) => entry.name !== name)
      .filter(({ entry }) => entry.volume.metadata.name === volume.metadata.name)
      .map(({ sinceMs }) => remainingMs(sinceMs, this.#clock))
    return Math.max(0, ...left)
  }

  /** How much of its time the driver has left; 0: it has answered, was not asked by us, or is too late. */
  leftMs({ metadata, status }: VolumeAttachment): number {
    const asked = this.#asked.get(metadata.name)
    if (asked === undefined || status?.attached || status?.attachError) return 0
    return remainingMs(asked.sinceMs, this.#clock)
  }
}
