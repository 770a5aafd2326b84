/**
 * Ends one container: preStop within the grace, the wait for its turn among sidecars, then the stop signal with the rest
 * of the grace, but at least two seconds. The grace may be shortened meanwhile (kubernetes, kuberuntime_container.go).
 */
import type { Clock } from '#api/clock.js'
import { setTimer } from '#async/set-timer.js'
import { whenAborted } from '#async/sleep.js'
import type { ContainerSpec } from './pod.js'
import { type HandlerTarget, runHook } from './probes/run-handler.js'
import type { Container, ContainerRuntime, Stop } from './runtime.js'

/** Upstream's minimumGracePeriodInSeconds. */
const stopMsMin = 2_000

interface KillOptions {
  readonly container: Container
  /** Undefined if the Pod is unknown: then there is no preStop to run. */
  readonly spec: ContainerSpec | undefined
  readonly graceSeconds: number
  /** Resolves when it is this container's turn to get the stop signal. */
  readonly turn?: Promise<void>
  /** Why, for the event. */
  readonly message: string
  /** The node shuts down but the Pod stays: see Container.halted. */
  readonly halted?: boolean
}

/** What the start and the end of a container need of its Pod. */
export interface KillDeps {
  readonly runtime: ContainerRuntime
  readonly clock: Clock
  target(containerId: string, container: ContainerSpec): HandlerTarget
  event(type: 'Normal' | 'Warning', reason: string, message: string, containerName?: string): void
}

export interface ContainerKill {
  readonly done: Promise<void>
  shorten(graceSeconds: number): void
}

const knownSignals = /^SIG[A-Z0-9+-]+$/

/**
 * A deadline that can only be brought forward. On the monotonic clock, since setting the machine's clock must not change a
 * grace; a test that moves the cluster's clock means to change it.
 */
class Deadline {
  readonly #passed = new AbortController()
  #at: number
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(ms: number) {
    this.#at = performance.now() + ms
    this.#arm()
  }
  get passed(): AbortSignal {
    return this.#passed.signal
  }
  get leftMs(): number {
    return Math.max(0, this.#at - performance.now())
  }
  shorten(ms: number): void {
    this.#at = Math.min(this.#at, performance.now() + ms)
    this.#arm()
  }
  /** From now on nobody is told that it has passed. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }
  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#stopped) return
    if (this.leftMs === 0) this.#passed.abort()
    // Graces of a year are common: whoever sets one means that the container ends by itself.
    else this.#timer = setTimer(() => this.#arm(), this.leftMs)
  }
}

/** After its time it is not waited for, but runs on until its container is gone. */
const runPreStop = async (
  deps: KillDeps,
  options: KillOptions,
  { deadline, gone }: { deadline: Deadline; gone: AbortSignal },
) => {
  const { spec, container } = options
  const handler = spec?.lifecycle?.preStop
  if (!spec || !handler || options.graceSeconds <= 0 || container.state !== 'running') return
  const hook = runHook(deps.target(container.id, spec), handler, gone).then((outcome) => {
    // If the container is gone, a failure of its hook means nothing; a command has ended with it.
    if (outcome.ok || (gone.aborted && handler.httpGet)) return
    // The Event leaves out the text of the failure, which may hold secrets.
    deps.event('Warning', 'FailedPreStopHook', 'PreStopHook failed', spec.name)
  })
  await Promise.race([hook, whenAborted(deadline.passed)])
}

export const killContainer = (deps: KillDeps, options: KillOptions): ContainerKill => {
  const { container, spec, turn, message, halted } = options
  const deadline = new Deadline(options.graceSeconds * 1000)
  const gone = new AbortController()
  let stop: Stop | undefined
  const bringForward = (graceMs: number): void => {
    deadline.shorten(graceMs)
    stop?.shorten(Math.max(stopMsMin, graceMs))
  }
  const ignoreMoves = deps.clock.onMove?.((byMs) => bringForward(deadline.leftMs - byMs))
  const run = async () => {
    if (message !== '') deps.event('Normal', 'Killing', message, container.name)
    await runPreStop(deps, options, { deadline, gone: gone.signal })
    if (turn) await Promise.race([turn, whenAborted(deadline.passed)])
    deadline.stop()
    const wanted = spec?.lifecycle?.stopSignal
    stop = deps.runtime.stopContainer(container.id, {
      graceMs: Math.max(stopMsMin, deadline.leftMs),
      ...(wanted && knownSignals.test(wanted) ? { signal: wanted as NodeJS.Signals } : {}),
      ...(halted ? { halted } : {}),
    })
    await stop.done
  }
  return {
    done: run().finally(() => {
      ignoreMoves?.()
      deadline.stop()
      gone.abort()
    }),
    shorten: (graceSeconds) => bringForward(graceSeconds * 1000),
  }
}
