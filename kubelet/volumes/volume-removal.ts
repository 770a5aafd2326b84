/** Removes what Pods leave in their folders, and tries again if that fails. */
import { sleep } from '#async/sleep.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Log } from '#client/log.js'
import type { Pod } from '../pod.js'
import { untilDone } from '../until-done.js'
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
   * Resolves to false when the kubelet ends before CSI drivers have undone their mounts: these hold the Pod, as long as it
   * takes. What the kubelet itself cannot remove must not hold it: that has one attempt, and not too long. Each failure
   * is an event of `pod`, where it is known.
   */
  async remove(podUid: string, pod?: Pod): Promise<boolean> {
    const unmounted = () => this.#options.volumes.unmount(podUid)
    if (!(await this.#untilDone(unmounted, 'unmounted', podUid, pod))) return false
    if (this.#underWay.has(podUid)) return true
    this.#underWay.add(podUid)
    const first = new AbortController()
    const removed = () => this.#options.volumes.remove(podUid).finally(() => first.abort())
    void this.#untilDone(removed, 'removed', podUid, pod).finally(() => {
      this.#underWay.delete(podUid)
    })
    await sleep(heldMs, first.signal)
    return true
  }

  #untilDone(
    act: () => Promise<void>,
    what: string,
    podUid: string,
    pod: Pod | undefined,
  ): Promise<boolean> {
    const { events, log, signal, backoff: retryMs = backoffDefault } = this.#options
    const failed = (error: unknown): void => {
      const { message } = error as Error
      log.warn({ uid: podUid, error: message }, `volumes were not ${what}, will retry`)
      if (pod) events.event(pod, 'Warning', 'FailedUnmount', message)
    }
    return untilDone(act, failed, { signal, retryMs })
  }
}
