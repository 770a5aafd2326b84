/**
 * Probes of the containers of one Pod. A timer per probe and container; results are asked for by container id, so
 * that a new container begins anew. Upstream: pkg/kubelet/prober/worker.go.
 */
import type { Clock } from '#api/clock.js'
import { setTimer } from '#async/set-timer.js'
import { withinTime } from '#async/within-time.js'
import type { ContainerSpec, Probe } from '../pod.js'
import type { Container } from '../runtime.js'
import type { Outcome } from './outcome.js'
import { type HandlerTarget, runProbe } from './run-handler.js'

type ProbeKind = 'startup' | 'liveness' | 'readiness'
const kinds: readonly ProbeKind[] = ['startup', 'liveness', 'readiness']
const titles = { startup: 'Startup', liveness: 'Liveness', readiness: 'Readiness' } as const

interface ProberOptions {
  readonly clock: Clock
  /** What a handler needs to reach this container. */
  target(containerId: string, container: ContainerSpec): HandlerTarget
  /** What this container's status said before anybody here has probed it. */
  was(containerId: string, container: ContainerSpec): { started: boolean; ready: boolean }
  onUnhealthy(container: ContainerSpec, message: string): void
  onWarning(container: ContainerSpec, message: string): void
  /** A result that counts has changed: the Pod's status may be another one, a container may have to go. */
  onChange(): void
}

interface Worker {
  readonly kind: ProbeKind
  readonly spec: ContainerSpec
  readonly probe: Probe
  readonly containerId: string
  readonly startedAt: number
  /** Undefined until a threshold was reached. */
  result: boolean | undefined
  run: number
  last: boolean | undefined
  /** Undefined while it probes. */
  timer: NodeJS.Timeout | undefined
  /** When the timer fires, on the monotonic clock. */
  dueAt: number
  readonly abort: AbortController
  onHold: boolean
}

export class Prober {
  readonly #options: ProberOptions
  readonly #workers = new Map<string, Worker>()
  #quiet = false

  constructor(options: ProberOptions) {
    this.#options = options
  }

  /** Starts what is missing for these running containers and stops what is probed for others. */
  follow(running: readonly (readonly [Container, ContainerSpec])[]): void {
    const wanted = new Set<string>()
    for (const [container, spec] of running) {
      for (const kind of kinds) {
        const probe = spec[`${kind}Probe`]
        if (!probe || (this.#quiet && kind !== 'readiness')) continue
        const key = `${kind}/${container.id}`
        wanted.add(key)
        if (!this.#workers.has(key)) this.#start(key, kind, container, spec, probe)
      }
    }
    for (const [key, worker] of this.#workers) if (!wanted.has(key)) this.#stop(key, worker)
  }

  /** Once termination has begun only readiness goes on. */
  quieten(): void {
    this.#quiet = true
    for (const [key, worker] of this.#workers) {
      if (worker.kind !== 'readiness') this.#stop(key, worker)
    }
  }

  stop(): void {
    for (const [key, worker] of this.#workers) this.#stop(key, worker)
  }

  isStarted(containerId: string, spec: ContainerSpec): boolean {
    if (!spec.startupProbe) return true
    // Nobody asks any more: the last result holds.
    if (this.#quiet) return this.#options.was(containerId, spec).started
    return this.#workers.get(`startup/${containerId}`)?.result === true
  }
  isReady(containerId: string, spec: ContainerSpec): boolean {
    if (!spec.readinessProbe) return true
    return this.#workers.get(`readiness/${containerId}`)?.result === true
  }
  /** The probe for whose failure this container has to be restarted. */
  failedProbe(containerId: string): { kind: ProbeKind; probe: Probe } | undefined {
    for (const kind of ['startup', 'liveness'] as const) {
      const worker = this.#workers.get(`${kind}/${containerId}`)
      if (worker?.result === false) return { kind, probe: worker.probe }
    }
    return undefined
  }

  #start(key: string, kind: ProbeKind, container: Container, spec: ContainerSpec, probe: Probe) {
    const before = this.#options.was(container.id, spec)
    const known = (kind === 'startup' && before.started) || (kind === 'readiness' && before.ready)
    const worker: Worker = {
      kind,
      spec,
      probe,
      containerId: container.id,
      startedAt: container.startedAt,
      result: known ? true : undefined,
      run: 0,
      last: undefined,
      timer: undefined,
      dueAt: 0,
      abort: new AbortController(),
      onHold: false,
    }
    this.#workers.set(key, worker)
    const delayMs = (probe.initialDelaySeconds ?? 0) * 1000
    const left = worker.startedAt + delayMs - this.#options.clock.now()
    this.#schedule(worker, Math.max(0, left))
  }

  #stop(key: string, worker: Worker): void {
    clearTimeout(worker.timer)
    worker.abort.abort()
    this.#workers.delete(key)
  }

  #schedule(worker: Worker, ms: number): void {
    if (worker.abort.signal.aborted) return
    worker.dueAt = performance.now() + ms
    worker.timer = setTimer(() => void this.#probe(worker), ms)
    worker.timer.unref()
  }

  /** Probes that wait come sooner by `byMs`. */
  clockMoved(byMs: number): void {
    for (const worker of this.#workers.values()) {
      if (worker.timer === undefined) continue
      clearTimeout(worker.timer)
      this.#schedule(worker, Math.max(0, worker.dueAt - performance.now() - byMs))
    }
  }

  async #probe(worker: Worker): Promise<void> {
    worker.timer = undefined
    const { kind, spec, probe, containerId, abort } = worker
    const began = performance.now()
    const started = this.isStarted(containerId, spec)
    const due = kind === 'startup' ? !started : started
    if (due && !worker.onHold) {
      const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000
      const target = this.#options.target(containerId, spec)
      const outcome = await withinTime(abort.signal, timeoutMs, (signal) =>
        runProbe(target, probe, signal),
      )
      if (abort.signal.aborted) return
      this.#take(worker, outcome)
    }
    const periodMs = (probe.periodSeconds ?? 10) * 1000
    this.#schedule(worker, Math.max(0, periodMs - (performance.now() - began)))
  }

  #take(worker: Worker, outcome: Outcome): void {
    const { kind, spec, probe } = worker
    if (!outcome.ok) {
      const how = outcome.unknown ? 'errored and resulted in unknown state' : 'failed'
      this.#options.onUnhealthy(spec, `${titles[kind]} probe ${how}: ${outcome.message}`)
      if (outcome.unknown) return
    } else if (outcome.warning !== undefined)
      this.#options.onWarning(spec, `${titles[kind]} probe warning: ${outcome.warning}`)
    worker.run = worker.last === outcome.ok ? worker.run + 1 : 1
    worker.last = outcome.ok
    const threshold = outcome.ok ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3)
    if (worker.run < threshold || worker.result === outcome.ok) return
    worker.result = outcome.ok
    // A container that is to be restarted is not asked again.
    if (!outcome.ok && kind !== 'readiness') worker.onHold = true
    this.#options.onChange()
    if (kind === 'startup' && outcome.ok) this.#kick(worker.containerId)
  }

  /** The other probes need not wait out their period once the container has started. */
  #kick(containerId: string): void {
    for (const worker of this.#workers.values()) {
      if (worker.containerId !== containerId || worker.kind === 'startup') continue
      clearTimeout(worker.timer)
      this.#schedule(worker, 0)
    }
  }
}
