/** Removes what Pods leave in their folders, and tries again if that fails. */
import { sleep } from '#async/sleep.js'
import { Backoff } from '#client/backoff.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Log } from '#client/log.js'
import type { Pod } from '../pod.js'
import type { Volumes } from './volumes.js'

/** Upstream's pkg/volume exponential back-off: 500 ms, doubling to about two minutes. */
const backoffDefault = { baseMs: 500, maxMs: 122_000 }
/** A removal that hangs (a mount whose server is away) holds its Pod no longer than this. */
const heldMs = 1_000

interface VolumeRemovalOptions {
  readonly volumes: Volumes
  readonly events: EventRecorder
  readonly log: Log
  /** Ends every retry: the next kubelet finds the folders. */
  readonly signal: AbortSignal
  readonly backoff?: { baseMs: number; maxMs: number }
}

export class VolumeRemoval {
  readonly #options: VolumeRemovalOptions
  readonly #underWay = new Set<string>()

  constructor(options: VolumeRemovalOptions) {
    this.#options = options
  }

  /**
   * Resolves when the first attempt is over or has taken too long, and never fails: a volume that cannot be removed
   * must not hold its Pod. Each failure is an event of `pod`, where it is known.
   */
  async remove(podUid: string, pod?: Pod): Promise<void> {
    if (this.#underWay.has(podUid)) return
    this.#underWay.add(podUid)
    const first = new AbortController()
    void this.#removeUntilDone(podUid, pod, () => first.abort()).finally(() => {
      this.#underWay.delete(podUid)
    })
    await sleep(heldMs, first.signal)
  }

  async #removeUntilDone(podUid: string, pod: Pod | undefined, tried: () => void): Promise<void> {
    const { volumes, events, log, signal } = this.#options
    const backoff = new Backoff(this.#options.backoff ?? backoffDefault)
    for (;;) {
      try {
        await volumes.remove(podUid)
        return tried()
      } catch (error) {
        const { message } = error as Error
        log.warn({ uid: podUid, error: message }, 'volumes were not removed, will retry')
        if (pod) events.event(pod, 'Warning', 'FailedUnmount', message)
      }
      tried()
      await sleep(backoff.next(), signal)
      if (signal.aborted) return
    }
  }
}
