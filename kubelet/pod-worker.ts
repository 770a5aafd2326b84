/**
 * One Pod on this node, from its first sight to its last process: `syncing` while it should run, `terminating` while
 * its containers are ended, `terminated` when none is left, `finished` when the API has let go of it. One pass at a
 * time; whatever happens meanwhile (an update, the end of a process, a probe, a timer) asks for another one.
 * Upstream: pkg/kubelet/pod_workers.go.
 */
import { isTerminalPhase } from '#api/pod-phase.js'
import { sleep } from '#async/sleep.js'
import type { ForcedEnd } from './forced-end.js'
import { killPod } from './kill-pod.js'
import { formatPod, ownGraceOf, type Pod, type PodStatus, statusesOf } from './pod.js'
import { hasEnded, runningContainers } from './pod-actions.js'
import type { PodContext } from './pod-context.js'
import { type PodHost, PodSync } from './pod-sync.js'
import { PodTermination, type TerminationHost } from './pod-termination.js'
import { PodView } from './pod-view.js'
import { Prober } from './probes/prober.js'
import { PodResize } from './resize.js'
import { waitsForItsTurn } from './restart-all.js'
import type { Container } from './runtime.js'
import { makePodStatus } from './status/pod-status.js'
import { TerminationMessages } from './status/termination-message.js'
import { WakeTimer } from './wake-timer.js'

type PodWorkerState = 'syncing' | 'terminating' | 'terminated' | 'finished'

/** A Pod whose pass failed is looked at again after this. */
const retryMs = 1_000
/** A pass that hangs is not waited for longer than this when the node goes down. */
const haltWaitMs = 1_000

export class PodWorker {
  readonly #context: PodContext
  readonly #prober: Prober
  readonly #sync: PodSync
  readonly #view: PodView
  readonly #resize: PodResize
  /** As the API has it. */
  #asked: Pod
  /** As its containers are made: with the resources that it was allocated. */
  #pod: Pod
  #gone = false
  #state: PodWorkerState = 'syncing'
  #status: PodStatus
  readonly #ending = new AbortController()
  readonly #halting = new AbortController()
  #termination: PodTermination | undefined
  #atEnd: readonly Container[] | undefined
  #forcedEnd: ForcedEnd | undefined
  readonly #whenStopped: (() => void)[] = []
  /** The final status has been written. */
  #isSettled = false
  #busy = false
  #again = false
  readonly #messages: TerminationMessages
  readonly #whenIdle: (() => void)[] = []
  readonly #timer = new WakeTimer(() => this.wake())

  constructor(context: PodContext, pod: Pod) {
    this.#context = context
    this.#view = new PodView(context, () => this.#pod)
    this.#resize = new PodResize(
      {
        now: () => context.clock.now(),
        refusal: (one) => context.shortage(one)?.message,
        event: (type, reason, message) => this.#view.event(type, reason, message),
      },
      pod,
      context.runtime.containersOf(pod.metadata.uid).length > 0,
    )
    this.#asked = pod
    this.#pod = this.#resize.apply(pod)
    this.#status = pod.status ?? {}
    this.#messages = new TerminationMessages(context)
    this.#sync = new PodSync(context, this.#asHost())
    this.#prober = new Prober({
      clock: context.clock,
      target: (id, spec) => this.#view.target(id, spec),
      // A restarted kubelet keeps what was known of containers that still run.
      was: (containerId, spec) => {
        const before = this.#statusOf(spec.name)
        const same = before?.containerID?.endsWith(`//${containerId}`) ?? false
        return { started: same && before?.started === true, ready: same && before?.ready === true }
      },
      onUnhealthy: (spec, message) => this.#view.event('Warning', 'Unhealthy', message, spec.name),
      onWarning: (spec, message) => this.#view.event('Warning', 'ProbeWarning', message, spec.name),
      onChange: () => this.wake(),
    })
  }

  get pod(): Pod {
    return this.#pod
  }
  get status(): PodStatus {
    return this.#status
  }
  get state(): PodWorkerState {
    return this.#state
  }
  /** It was admitted and has not ended, so that others have to fit beside it. */
  get isActive(): boolean {
    return this.#sync.isAdmitted && !this.#isStopped()
  }

  /** The API's newest word on the Pod. */
  update(pod: Pod): void {
    const wasActive = !isTerminalPhase(this.#asked.status?.phase)
    this.#asked = pod
    this.#pod = this.#resize.apply(pod)
    if (wasActive && isTerminalPhase(pod.status?.phase)) this.#context.onRoom()
    this.wake()
  }

  /** There may be room by now for the resources that the Pod asks for. */
  retryResize(): void {
    if (this.#resize.isPending) this.wake()
  }

  /** The API no longer has the object; whatever runs is ended all the same. */
  disappear(): void {
    this.#gone = true
    this.#context.writer.forget(this.#pod.metadata.uid)
    this.wake()
  }

  /** The node goes down: ends the processes, leaves the Pod. Resolves when none is left. */
  async halt(graceSeconds: number): Promise<void> {
    this.#halting.abort()
    this.#ending.abort()
    this.#timer.cancel()
    this.#prober.stop()
    // What a pass is starting must not start after all has been ended.
    await Promise.race([this.#idle(), sleep(haltWaitMs)])
    const seconds = Math.min(graceSeconds, ownGraceOf(this.#pod))
    this.#termination?.shorten(seconds)
    await this.#termination?.tried?.catch(() => {})
    const kill = killPod(this.#view.killDeps(), {
      pod: this.#pod,
      containers: this.#view.containers(),
      graceSeconds: seconds,
      halted: this.#state === 'syncing',
    })
    await kill.done
  }

  /** Ends the Pod within this time; of several reasons the first counts. Resolves when no container is left. */
  forceEnd(end: ForcedEnd): Promise<void> {
    const first = this.#forcedEnd ?? end
    this.#forcedEnd = { ...first, graceSeconds: Math.min(first.graceSeconds, end.graceSeconds) }
    this.wake()
    return new Promise((resolve) => this.#whenStopped.push(resolve))
  }

  /** The cluster's clock has moved by `byMs`: something may be due. */
  clockMoved(byMs: number): void {
    this.#prober.clockMoved(byMs)
    this.wake()
  }

  /** Asks for a pass. */
  wake(): void {
    if (this.#state === 'finished' || this.#halting.signal.aborted) return
    // What must not wait for the pass that is under way.
    if (this.#shouldEnd()) {
      this.#ending.abort()
      for (const kill of this.#sync.kills.values()) kill.shorten(this.#wantedGrace())
    }
    this.#termination?.shorten(this.#wantedGrace())
    this.#again = true
    if (this.#busy) return
    this.#busy = true
    setImmediate(() => void this.#passes())
  }

  async #passes(): Promise<void> {
    while (this.#again && !this.#halting.signal.aborted) {
      this.#again = false
      this.#timer.cancel()
      try {
        await this.#pass()
      } catch (error) {
        this.#context.log.warn(
          { pod: formatPod(this.#pod), error: (error as Error).message },
          'sync of a Pod failed, will retry',
        )
        this.#timer.wakeIn(retryMs)
      }
    }
    this.#busy = false
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#whenIdle.push(resolve)) : Promise.resolve()
  }

  async #pass(): Promise<void> {
    if (this.#state === 'syncing') {
      if (!this.#shouldEnd()) {
        this.#considerResize()
        await this.#sync.run({
          ending: this.#ending.signal,
          halting: this.#halting.signal,
        })
        this.#followProbes()
      }
      if (this.#shouldEnd()) this.#beginTermination()
    }
    if (this.#state === 'terminating') this.#followProbes()
    if (this.#state === 'terminated' && this.#gone) await this.#finish()
    else {
      await this.#readMessages()
      this.#publish()
    }
    if (this.#isStopped()) for (const resolve of this.#whenStopped.splice(0)) resolve()
  }

  #considerResize(): void {
    if (!this.#resize.consider(this.#asked)) return
    this.#pod = this.#resize.apply(this.#asked)
    this.#context.onRoom()
  }

  #shouldEnd(): boolean {
    const { metadata, status } = this.#pod
    return (
      this.#gone ||
      metadata.deletionTimestamp !== undefined ||
      isTerminalPhase(status?.phase) ||
      isTerminalPhase(this.#status.phase) ||
      this.#sync.isOver ||
      this.#forcedEnd !== undefined ||
      hasEnded(this.#pod, this.#view.containers(), (id) => this.#sync.isReplaced(id))
    )
  }

  // ---- the Pod should end

  /** The smallest that anybody has asked for, and never below 1 (calculateEffectiveGracePeriod). */
  #wantedGrace(): number {
    const asked = [this.#pod.metadata.deletionGracePeriodSeconds, this.#forcedEnd?.graceSeconds]
    const given = asked.filter((seconds) => seconds !== undefined)
    return Math.max(1, given.length > 0 ? Math.min(...given) : ownGraceOf(this.#pod))
  }

  #beginTermination(): void {
    this.#state = 'terminating'
    this.#atEnd = this.#view.containers()
    this.#sync.checkDeadline()
    this.#ending.abort()
    this.#timer.cancel()
    this.#prober.quieten()
    this.#termination = new PodTermination(this.#context, this.#asHost(), this.#wantedGrace())
    void this.#termination.run().then((isOver) => {
      if (!isOver) return
      this.#state = 'terminated'
      this.wake()
    })
  }

  async #finish(): Promise<void> {
    const { runtime, onFinished, onRoom } = this.#context
    const { uid } = this.#pod.metadata
    this.#prober.stop()
    for (const { id } of this.#view.containers()) await runtime.removeContainer(id)
    for (const { id } of runtime.sandboxesOf(uid)) await runtime.removeSandbox(id)
    this.#state = 'finished'
    onFinished(uid)
    onRoom()
  }

  // ---- what both share

  #readMessages(): Promise<void> {
    return this.#messages.read(this.#pod, this.#view.containers(), (name) => this.#statusOf(name))
  }

  /** The last reported status of a container, perhaps by an earlier kubelet. */
  #statusOf(name: string) {
    return statusesOf(this.#status).find((status) => status.name === name)
  }

  /** While it ends, containers are shown as they were when that began, until all is over (SyncTerminatingPod). */
  #shown(): readonly Container[] {
    const isOver = this.#isStopped() || this.#termination?.failed === true
    return (isOver ? undefined : this.#atEnd) ?? this.#view.containers()
  }

  #followProbes(): void {
    const asked = this.#isAboutToStop() ? [] : this.#shown()
    this.#prober.follow(runningContainers(this.#pod, asked))
  }

  /** The last container has ended and the final status follows: the moment between is no write, unless it lasts. */
  #isAboutToStop(): boolean {
    return (
      this.#state === 'terminating' &&
      !this.#isStopped() &&
      this.#termination?.failed !== true &&
      this.#view.containers().every(({ state }) => state === 'exited')
    )
  }

  #publish(): void {
    if (this.#gone || this.#isAboutToStop()) return
    if (this.#isStopped()) this.#sync.checkDeadline()
    // A final status stays, though drivers may still hold what they made for the Pod.
    this.#tell(this.#isSettled ? this.#status : this.#makeStatus())
    this.#isSettled = this.#isStopped()
  }

  #tell(status: PodStatus): void {
    // A status of a slow start may come when its writer has forgotten the Pod, whose name may be another's by now.
    if (this.#gone) return
    this.#status = status
    this.#context.writer.set(this.#pod, status, this.#state === 'terminated')
  }

  #makeStatus(): PodStatus {
    const { runtime, clock, nodeAddress, writer } = this.#context
    return makePodStatus({
      pod: this.#resize.apply(writer.newest(this.#pod)),
      runtimeName: runtime.name,
      // A sandbox that has been stopped still says which address the Pod had.
      sandbox: this.#view.sandbox() ?? this.#view.sandboxes().at(-1),
      containers: this.#shown().map((container) => ({
        ...container,
        message: this.#messages.with(container),
      })),
      problems: this.#sync.problems,
      probes: this.#prober,
      resize: this.#resize,
      ending: this.#state !== 'syncing',
      stopped: this.#isStopped(),
      forcedEnd: this.#forcedEnd,
      verdict: this.#sync.verdict,
      nodeAddress,
      previous: { ...this.#status, qosClass: this.#pod.status?.qosClass },
      now: clock.now(),
    })
  }

  #isStopped(): boolean {
    return this.#termination?.stopped === true
  }

  /** What the passes of a Pod that runs, and its end, need of this. */
  #asHost(): PodHost & TerminationHost {
    const pod = () => this.#pod
    const prober = () => this.#prober
    const resize = () => this.#resize
    const startTime = () => this.#status.startTime
    const halting = () => this.#halting.signal.aborted
    const kills = () => this.#sync.kills
    return {
      get pod() {
        return pod()
      },
      get prober() {
        return prober()
      },
      get resize() {
        return resize()
      },
      get startTime() {
        return startTime()
      },
      get halting() {
        return halting()
      },
      get kills() {
        return kills()
      },
      containers: () => this.#view.containers(),
      readMessages: () => this.#readMessages(),
      sandbox: () => this.#view.sandbox(),
      facts: () => this.#view.facts(),
      firstAttempt: (name) => {
        const before = this.#statusOf(name)
        if (before && waitsForItsTurn(before)) return before.restartCount
        return before?.containerID ? before.restartCount + 1 : 0
      },
      killDeps: () => this.#view.killDeps(),
      event: (type, reason, message, name) => this.#view.event(type, reason, message, name),
      statusToTell: () => {
        const status = this.#makeStatus()
        return () => this.#tell(status)
      },
      wake: () => this.wake(),
      wakeIn: (ms) => this.#timer.wakeIn(ms),
    }
  }
}
