/** One pass over a Pod that should run: admission, volumes, sandbox, then what its containers need. */
import { parseTime } from '#api/clock.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { unlessAborted } from '#async/sleep.js'
import { nextTurn } from '#async/turns.js'
import { resourcesOf } from './container-resources.js'
import { AttachmentWait } from './csi/attachment-wait.js'
import { NotAttached } from './csi/mount-error.js'
import type { PodFacts } from './downward.js'
import { ImagePulls } from './images/image-pulls.js'
import { type ContainerKill, type KillDeps, killContainer } from './kill-container.js'
import {
  allContainers,
  type ContainerSpec,
  findContainer,
  formatPod,
  isEphemeral,
  ownGraceOf,
  type Pod,
} from './pod.js'
import { computeActions, type PodActions, runningContainers } from './pod-actions.js'
import type { PodContext } from './pod-context.js'
import type { Prober } from './probes/prober.js'
import type { PodResize } from './resize.js'
import { asksForAll, inOrderOfRemoval } from './restart-all.js'
import { RestartBackoff } from './restart-backoff.js'
import { type Container, type Sandbox, StartError } from './runtime.js'
import { makeSandboxConfig } from './sandbox-config.js'
import { hashOf, type PassSignals, type StartRequest, startContainer } from './start-container.js'
import type { ContainerProblem, Verdict } from './status/status-input.js'
import { UntoldEnds } from './status/untold-ends.js'

/** What a pass needs from the Pod's worker. */
export interface PodHost {
  readonly pod: Pod
  readonly prober: Prober
  readonly resize: PodResize
  readonly startTime: string | undefined
  containers(): readonly Container[]
  sandbox(): Sandbox | undefined
  facts(): PodFacts
  firstAttempt(name: string): number
  killDeps(): KillDeps
  event(type: 'Normal' | 'Warning', reason: string, message: string, name?: string): void
  /** Reads what containers have said of their end. */
  readMessages(): Promise<void>
  /** Computes the status of this moment; the returned function writes it. */
  statusToTell(): () => void
  wake(): void
  wakeIn(ms: number): void
}

/** Pause before volumes and containers that could not be made are tried again; it doubles. */
const retryMs = { first: 500, last: 60_000 }
/** Maximum age of the contents of ConfigMap and Secret volumes; upstream's sync frequency. */
const resyncMs = 60_000
/** If a start takes longer, its progress is written. */
const slowStartMs = 100

export class PodSync {
  readonly #context: PodContext
  readonly #host: PodHost
  readonly #backoff: RestartBackoff
  readonly #pulls: ImagePulls
  readonly #startProblems = new Map<string, ContainerProblem>()
  /** Containers that are being ended while the Pod goes on. */
  readonly kills = new Map<string, ContainerKill>()
  problems: ReadonlyMap<string, ContainerProblem> = new Map()
  verdict: Verdict | undefined
  readonly #backoffToldAt = new Map<string, number>()
  /** Containers that were ended to be started again, until the next pass sees it. */
  readonly #killed = new Set<string>()
  readonly #untold = new UntoldEnds()
  /** Those of them that are replaced whatever the Pod's restartPolicy. */
  readonly #replaced = new Set<string>()
  #nothingStays = false
  #telling: NodeJS.Timeout | undefined
  #admitted = false
  #volumesAt: number | undefined
  /** How many containers the Pod had then: one that debugs it may mount what none has mounted. */
  #volumesFor = 0
  #failures = 0
  readonly #attachment = new AttachmentWait()

  constructor(context: PodContext, host: PodHost) {
    this.#context = context
    this.#host = host
    this.#backoff = new RestartBackoff(context.backoff)
    this.#pulls = new ImagePulls(context)
    // Ends before this kubelet come with the first status: until then it knows of no container whether it is ready.
    this.#untold.take(host.containers())
  }

  isReplaced(containerId: string): boolean {
    return this.#replaced.has(containerId)
  }

  /** A Pod whose containers have run here was admitted before. */
  get isAdmitted(): boolean {
    return this.#admitted || this.#host.containers().length > 0
  }

  /** The Pod has to end. */
  get isOver(): boolean {
    return this.verdict !== undefined || this.#nothingStays
  }

  async run(signals: PassSignals): Promise<void> {
    if (!(await this.#admit())) return
    // Upstream first writes that containers are being created. Here Pods that start at once save that write.
    if (this.#host.startTime === undefined) this.#tellIfSlow()
    try {
      await this.#run(signals)
    } finally {
      clearTimeout(this.#telling)
    }
  }

  /** Writes the status of now, unless a newer one comes soon. */
  #tellIfSlow(): void {
    clearTimeout(this.#telling)
    this.#telling = setTimeout(this.#host.statusToTell(), slowStartMs)
  }

  async #run(signals: PassSignals): Promise<void> {
    const { ending, halting } = signals
    const { runtime, clock } = this.#context
    if (this.checkDeadline()) return
    const facts = this.#host.facts()
    const containers = allContainers(facts.pod).length
    if (containers !== this.#volumesFor || this.#refreshIsDue(facts)) {
      if (!(await this.#prepareVolumes(facts, ending))) return
      this.#volumesAt = clock.now()
      this.#volumesFor = containers
    }
    if (ending.aborted) return
    const sandbox = this.#host.sandbox() ?? (await this.#makeSandbox(ending))
    if (!sandbox) return
    await this.#tellEnds()
    const asking = this.#host.containers().find((one) => asksForAll(this.#host.pod, one))
    if (asking) {
      // Upstream has no back-off here, but its passes are further apart.
      const { waitMs } = this.#backoff.next(asking.name, asking.finishedAt, clock.now())
      if (waitMs > 0) return this.#host.wakeIn(waitMs)
      await this.#removeAll(halting)
      return this.#host.wake()
    }
    const actions = computeActions({
      pod: this.#host.pod,
      containers: runtime.containersOf(this.#host.pod.metadata.uid),
      hashOf,
      firstAttempt: (name) => this.#host.firstAttempt(name),
      failedProbe: (id) => (this.kills.has(id) ? undefined : this.#host.prober.failedProbe(id)),
      wasKilled: (id) => this.#killed.has(id),
      isReplaced: (id) => this.#replaced.has(id),
      isStarted: (id, spec) => this.#host.prober.isStarted(id, spec),
      restartsToResize: (spec) => this.#host.resize.needOf(spec) === 'restart',
      // A new image resets the back-off (GetStableKey).
      backoff: (spec, finishedAt) =>
        this.#backoff.next(`${spec.name}/${hashOf(spec)}`, finishedAt, clock.now()),
    })
    for (const { id, state } of this.#host.containers())
      if (state === 'exited') this.#killed.delete(id)
    this.#nothingStays = actions.nothingStays
    await this.#carryOut(actions, sandbox, signals)
    await this.#resizeRunning()
    if (actions.waitMs !== undefined) this.#host.wakeIn(Math.min(actions.waitMs, resyncMs))
  }

  /** An end is told before what follows from it. To end one and start it again is one step. */
  async #tellEnds(): Promise<void> {
    const ended = this.#host.containers().filter(({ id }) => !this.#killed.has(id))
    if (!this.#untold.take(ended)) return
    await this.#host.readMessages()
    this.#host.statusToTell()()
    // Or the status that the pass ends with would be written in its place.
    await nextTurn()
  }

  async #resizeRunning(): Promise<void> {
    const { pod, resize } = this.#host
    const running = runningContainers(pod, this.#host.containers())
    for (const [{ id }, spec] of running) {
      const need = resize.needOf(spec)
      if (need === 'none') resize.done(spec.name)
      if (need === 'update') await this.#resizeOne(id, spec)
    }
    resize.settle(
      pod,
      running.map(([{ name }]) => name),
    )
  }

  async #resizeOne(id: string, spec: ContainerSpec): Promise<void> {
    const { pod, resize } = this.#host
    const { runtime } = this.#context
    try {
      const limit = resize.lowerLimitOf(spec.name)
      const used = limit === undefined ? 0 : ((await runtime.usage()).get(id)?.memoryBytes ?? 0)
      if (limit !== undefined && limit < used)
        throw new Error(
          `attempting to set container "${spec.name}" memory limit (${limit}) below current usage (${used})`,
        )
      await runtime.updateContainer(id, resourcesOf(this.#host.facts(), spec))
      resize.done(spec.name)
    } catch (error) {
      resize.failed(pod, (error as Error).message)
      this.#host.wakeIn(resyncMs)
    }
  }

  /** Without grace, and one after the other, as upstream. */
  async #removeAll(halting: AbortSignal): Promise<void> {
    const { pod } = this.#host
    this.#host.statusToTell()()
    for (const container of inOrderOfRemoval(pod, this.#host.containers())) {
      if (halting.aborted) return
      const spec = findContainer(pod, container.name)
      if (!spec || isEphemeral(pod, container.name)) continue
      if (container.state !== 'exited') await this.#kill(container, spec, 'killing', 0)
      await this.#context.runtime.removeContainer(container.id)
    }
  }

  async #admit(): Promise<boolean> {
    if (this.#admitted) return true
    const refusal = this.isAdmitted ? undefined : await this.#context.admit(this.#host.pod)
    if (refusal) {
      const { reason, message } = refusal
      this.verdict = {
        phase: 'Failed',
        reason,
        message: `Pod was rejected: ${message}`,
        refused: true,
      }
      this.#host.event('Warning', reason, message)
      return false
    }
    this.#admitted = true
    return true
  }

  /** A Pod past its deadline has failed, even if it passes while the Pod is being ended (activeDeadlineHandler). */
  checkDeadline(): boolean {
    const { spec, status } = this.#host.pod
    const seconds = spec.activeDeadlineSeconds
    const started = this.#host.startTime
    if (seconds === undefined || started === undefined || isTerminalPhase(status?.phase))
      return false
    const left = parseTime(started) + seconds * 1000 - this.#context.clock.now()
    if (left > 0) {
      this.#host.wakeIn(left)
      return false
    }
    if (this.verdict === undefined) {
      const message = 'Pod was active on the node longer than the specified deadline'
      this.verdict = { phase: 'Failed', reason: 'DeadlineExceeded', message }
      this.#host.event('Normal', 'DeadlineExceeded', message)
    }
    return true
  }

  #refreshIsDue(facts: PodFacts): boolean {
    if (!this.#context.volumes.changes(facts)) return false
    const dueIn = this.#volumesAt! + resyncMs - this.#context.clock.now()
    if (dueIn > 0) this.#host.wakeIn(dueIn)
    return dueIn <= 0
  }

  async #prepareVolumes(facts: PodFacts, signal: AbortSignal): Promise<boolean> {
    try {
      // A driver that hangs must not hold up the Pod's end; what it mounts yet is undone behind it.
      await unlessAborted(this.#context.volumes.prepare(facts, signal), signal)
      this.#attachment.end()
      return true
    } catch (error) {
      if (signal.aborted) return false
      const waits = error instanceof NotAttached
      const message = waits ? this.#attachment.complaint(error) : (error as Error).message
      if (message !== undefined) this.#host.event('Warning', 'FailedMount', message)
      if (waits) this.#host.wakeIn(retryMs.first)
      else this.#retry()
      return false
    }
  }

  async #prepareDevices(signal: AbortSignal): Promise<boolean> {
    const { dynamicResources } = this.#context
    try {
      await unlessAborted(dynamicResources.prepare(this.#host.pod, signal), signal)
      return true
    } catch (error) {
      if (signal.aborted) return false
      const message = `Failed to prepare dynamic resources: ${(error as Error).message}`
      this.#host.event('Warning', 'FailedPrepareDynamicResources', message)
      this.#retry()
      return false
    }
  }

  async #makeSandbox(signal: AbortSignal): Promise<Sandbox | undefined> {
    if (!(await this.#prepareDevices(signal))) return undefined
    const { metadata } = this.#host.pod
    const { runtime } = this.#context
    const before = runtime.sandboxesOf(metadata.uid)
    for (const { id } of before) await runtime.removeSandbox(id)
    const attempt = Math.max(-1, ...before.map((one) => one.attempt)) + 1
    try {
      const { config: dns, warnings } = this.#context.dnsOf(this.#host.pod)
      for (const { reason, message } of warnings) this.#host.event('Warning', reason, message)
      const { clusterDomain } = this.#context
      const config = makeSandboxConfig(this.#host.pod, { attempt, clusterDomain, dns })
      const handler = await this.#context.reader.runtimeHandler(this.#host.pod)
      const sandbox = await runtime.runSandbox(config, handler)
      this.#tellIfSlow()
      return sandbox
    } catch (error) {
      const message = `Failed to create pod sandbox: ${(error as Error).message}`
      this.#host.event('Warning', 'FailedCreatePodSandBox', message)
      this.#retry()
      return undefined
    }
  }

  async #carryOut(actions: PodActions, sandbox: Sandbox, signals: PassSignals): Promise<void> {
    for (const name of actions.problems.keys()) this.#tellBackoff(name)
    for (const { container, spec, message, probe } of actions.kill) {
      const seconds = probe?.terminationGracePeriodSeconds ?? ownGraceOf(this.#host.pod)
      this.#killed.add(container.id)
      if (!probe) this.#replaced.add(container.id)
      void this.#kill(container, spec, message, seconds)
    }
    this.#startProblems.clear()
    for (const { spec, attempt } of actions.start) {
      if (signals.halting.aborted) break
      await this.#start({ spec, attempt, sandbox, signals, facts: this.#host.facts() })
    }
    if (this.#startProblems.size === 0) this.#failures = 0
    this.problems = new Map([...actions.problems, ...this.#startProblems])
  }

  /** Reports the back-off when it begins, and then as often as upstream looks at the Pod. */
  #tellBackoff(name: string): void {
    const now = this.#context.clock.now()
    const toldAt = this.#backoffToldAt.get(name)
    if (this.problems.has(name) && toldAt !== undefined && now - toldAt < resyncMs) return
    this.#backoffToldAt.set(name, now)
    const text = `Back-off restarting failed container ${name} in pod ${formatPod(this.#host.pod)}`
    this.#host.event('Warning', 'BackOff', text, name)
  }

  /** Resolves, whatever happens, when it has been tried. One that is being ended already gets no more time than this. */
  #kill(
    container: Container,
    spec: ContainerSpec,
    message: string,
    graceSeconds: number,
  ): Promise<void> {
    const options = { container, spec, message, graceSeconds }
    const kill = this.kills.get(container.id) ?? killContainer(this.#host.killDeps(), options)
    kill.shorten(graceSeconds)
    this.kills.set(container.id, kill)
    return kill.done
      .catch((error) => this.#context.log.warn({ error: error.message }, 'kill failed'))
      .finally(() => {
        this.kills.delete(container.id)
        this.#host.wake()
      })
  }

  async #start(request: StartRequest): Promise<void> {
    const { spec, attempt } = request
    const { runtime } = this.#context
    try {
      // One ended container of each name is kept, for its log and its last state; one that was never started must not start.
      for (const old of this.#host.containers())
        if (old.name === spec.name && (old.attempt < attempt - 1 || old.state === 'created'))
          await runtime.removeContainer(old.id)
      const deps = { ...this.#context, ...this.#host.killDeps(), pulls: this.#pulls }
      const { id, hookFailure } = await startContainer(deps, request)
      this.#host.resize.done(spec.name)
      const container = this.#host.containers().find((candidate) => candidate.id === id)
      if (hookFailure === undefined || !container) return
      // Nothing else is done, nor is the container reported as running, before it is gone. The text is upstream's.
      await this.#kill(container, spec, 'FailedPostStartHook', ownGraceOf(this.#host.pod))
      throw new StartError('PostStartHookError', hookFailure)
    } catch (error) {
      const { reason, message, retryMs } = error as StartError
      this.#startProblems.set(spec.name, { reason: reason ?? 'CreateContainerError', message })
      if (retryMs === undefined) this.#retry()
      else this.#host.wakeIn(retryMs)
    }
  }

  #retry(): void {
    this.#host.wakeIn(Math.min(retryMs.last, retryMs.first * 2 ** this.#failures++))
  }
}
