/** The end of a Pod on this node: its containers, tried again until none is left, then its network and its folder. */
import { sleep } from '#async/sleep.js'
import type { ContainerKill, KillDeps } from './kill-container.js'
import { endFailed, failureOf, killPod, type PodKill } from './kill-pod.js'
import { formatPod, type Pod } from './pod.js'
import type { PodContext } from './pod-context.js'
import type { Prober } from './probes/prober.js'
import type { Container } from './runtime.js'

/** What the Pod's worker provides for its end. */
export interface TerminationHost {
  readonly pod: Pod
  readonly prober: Prober
  /** Another try makes no sense, because everything on the node ends. */
  readonly halting: boolean
  /** Containers that are being ended already. */
  readonly kills: ReadonlyMap<string, ContainerKill>
  containers(): readonly Container[]
  killDeps(): KillDeps
  readMessages(): Promise<void>
  event(type: 'Normal' | 'Warning', reason: string, message: string, containerName?: string): void
  wake(): void
}

/** A runtime that could not end something is asked again after this. */
const retryMs = 1_000

export class PodTermination {
  readonly #context: PodContext
  readonly #host: TerminationHost
  #graceSeconds: number
  #kill: PodKill | undefined
  /** No container runs any more, and its network is gone. */
  stopped = false
  /** Something could not be ended, or not yet. */
  failed = false

  constructor(context: PodContext, host: TerminationHost, graceSeconds: number) {
    this.#context = context
    this.#host = host
    this.#graceSeconds = graceSeconds
  }

  /** True when nothing of the Pod is left here; false when the kubelet ends before. */
  async run(): Promise<boolean> {
    const host = this.#host
    while (!(await this.#tryToEnd())) {
      await sleep(retryMs)
      if (host.halting) return false
    }
    await host.readMessages()
    this.stopped = true
    host.wake()
    const { pod } = host
    return this.#context.volumeRemoval.remove(pod.metadata.uid, pod)
  }

  /** The try that is under way has come to its end. */
  get tried(): Promise<void> | undefined {
    return this.#kill?.done
  }

  /** A longer grace than the present one changes nothing. */
  shorten(graceSeconds: number): void {
    if (graceSeconds >= this.#graceSeconds) return
    this.#graceSeconds = graceSeconds
    this.#kill?.shorten(graceSeconds)
  }

  /** What a runtime cannot end is tried again: nothing may be reported as ended before it is. */
  async #tryToEnd(): Promise<boolean> {
    const host = this.#host
    try {
      await this.#endContainers()
      return true
    } catch (error) {
      const { message } = error as Error
      this.#context.log.warn({ pod: formatPod(host.pod), error: message }, 'kill failed')
      host.event('Warning', 'FailedKillPod', `error killing pod: ${message}`)
      this.failed = true
      host.wake()
      return false
    }
  }

  async #endContainers(): Promise<void> {
    const { runtime, dynamicResources } = this.#context
    const { pod, kills, prober } = this.#host
    const containers = this.#host.containers()
    this.#kill = killPod(this.#host.killDeps(), {
      pod,
      containers,
      graceSeconds: this.#graceSeconds,
      underWay: kills,
    })
    const failures: string[] = await this.#kill.done.then(
      () => [],
      ({ errors }: AggregateError) => errors,
    )
    if (failures.length === 0) {
      // Ended ones are swept too: what they have left behind goes with the Pod.
      await Promise.all(containers.map(({ id }) => runtime.stopContainer(id, { graceMs: 0 }).done))
      prober.stop()
    }
    // It takes with it what could not be ended before.
    for (const { id } of runtime.sandboxesOf(pod.metadata.uid))
      await runtime
        .stopSandbox(id)
        .catch((error) => failures.push(failureOf('KillPodSandbox', pod.metadata.uid, error)))
    if (failures.length > 0) throw endFailed(failures)
    await dynamicResources.unprepare(pod.metadata.uid)
  }
}
