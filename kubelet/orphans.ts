/** What Pods have left here that the API does not know: their containers are ended, their folders removed. */
import type { EventSubject } from '#client/event-recorder.js'
import { killPod } from './kill-pod.js'
import type { PodContext } from './pod-context.js'
import type { Container } from './runtime.js'

/** Upstream's grace for orphans, whatever their Pod said (HandlePodCleanups). */
const graceSeconds = 1

type OrphansOptions = Pick<
  PodContext,
  'runtime' | 'clock' | 'log' | 'events' | 'volumes' | 'volumeRemoval' | 'dynamicResources'
>

export class Orphans {
  readonly #options: OrphansOptions
  readonly #underWay = new Set<string>()

  constructor(options: OrphansOptions) {
    this.#options = options
  }

  /** Ends the containers of the Pod, if it has any. */
  end(uid: string): void {
    const { runtime, log } = this.#options
    if (this.#underWay.has(uid)) return
    const containers = runtime.containersOf(uid)
    if (containers.length === 0 && runtime.sandboxesOf(uid).length === 0) return
    this.#underWay.add(uid)
    void this.#remove(uid, containers)
      .catch((error) => log.warn({ uid, error: error.message }, 'an orphan was not removed'))
      .finally(() => this.#underWay.delete(uid))
  }

  /** Removes folders that an earlier kubelet left behind, and unprepares devices. */
  removeRests(isKnown: (uid: string) => boolean): void {
    const { runtime, volumes, volumeRemoval, dynamicResources } = this.#options
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
