/** What Pods have left here that the API does not know: their containers are ended, their folders removed. */
import { messageOf } from '#client/errors.js'
import type { EventSubject } from '#client/event-sink.js'
import { killPod } from './kill-pod.js'
import type { PodContext } from './pod-context.js'
import type { Container } from './runtime.js'
import { untilDone } from './until-done.js'

/** Upstream's grace for orphans, whatever their Pod said (HandlePodCleanups). */
const graceSeconds = 1
/** Upstream looks for them every two seconds. */
const retryMs = { baseMs: 2_000, maxMs: 60_000 }

interface OrphansOptions
  extends Pick<
    PodContext,
    'runtime' | 'clock' | 'log' | 'events' | 'volumes' | 'volumeRemoval' | 'dynamicResources'
  > {
  /** The API has the Pod, perhaps again. */
  isKnown(uid: string): boolean
  /** Ends every retry: the next kubelet finds them. */
  readonly signal: AbortSignal
}

export class Orphans {
  readonly #options: OrphansOptions
  readonly #underWay = new Set<string>()

  constructor(options: OrphansOptions) {
    this.#options = options
  }

  /** Ends the containers of the Pod, if it is one and has any; tried again until it is done. */
  end(uid: string): void {
    if (this.#options.isKnown(uid) || this.#underWay.has(uid) || !this.#hasRests(uid)) return
    this.#underWay.add(uid)
    void this.#removeUntilDone(uid).finally(() => this.#underWay.delete(uid))
  }

  #hasRests(uid: string): boolean {
    const { runtime } = this.#options
    return runtime.containersOf(uid).length > 0 || runtime.sandboxesOf(uid).length > 0
  }

  async #removeUntilDone(uid: string): Promise<void> {
    const { runtime, log, signal, isKnown } = this.#options
    await untilDone(
      async () => {
        if (!isKnown(uid)) await this.#remove(uid, runtime.containersOf(uid))
      },
      (error) => log.warn({ uid, error: messageOf(error) }, 'an orphan was not removed'),
      { signal, retryMs },
    )
  }

  /** Removes folders that an earlier kubelet left behind, and unprepares devices. */
  removeRests(): void {
    const { runtime, volumes, volumeRemoval, dynamicResources, isKnown } = this.#options
    const isGone = (uid: string) => !isKnown(uid) && runtime.containersOf(uid).length === 0
    for (const uid of volumes.podUids().filter(isGone)) void volumeRemoval.remove(uid)
    for (const uid of dynamicResources.podUids().filter(isGone)) void dynamicResources.release(uid)
  }

  async #remove(uid: string, containers: readonly Container[]): Promise<void> {
    const { runtime, clock, events, volumeRemoval, dynamicResources } = this.#options
    const known = containers[0]?.pod
    const subject: EventSubject | undefined = known && {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { ...known },
    }
    const kill = killPod(
      {
        runtime,
        clock,
        target: () => {
          throw new Error('a Pod that nobody knows has no hooks')
        },
        event: (type, reason, message, name) => {
          const fieldPath = `spec.containers{${name}}`
          if (subject) events.event(subject, type, reason, message, { fieldPath })
        },
      },
      { pod: undefined, containers, graceSeconds },
    )
    await kill.done
    for (const { id } of containers) {
      await runtime.stopContainer(id, { graceMs: 0 }).done
      await runtime.removeContainer(id)
    }
    for (const { id } of runtime.sandboxesOf(uid)) await runtime.removeSandbox(id)
    void dynamicResources.release(uid)
    await volumeRemoval.remove(uid)
  }
}
