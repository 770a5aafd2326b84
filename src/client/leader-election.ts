/**
 * Of several processes only one works: the holder of a Lease, which it renews. Another one takes the Lease if it was not
 * renewed for its whole duration, measured by its own clock (so that clocks need not agree). As client-go.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, formatMicroTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import type { Client } from './client.js'
import { isNotFound, messageOf } from './errors.js'
import { createEventRecorder } from './event-recorder.js'
import type { Log } from './log.js'
import { type Random, systemRandom } from './random.js'
import { resources } from './resources.js'
import type { ProcessDeps } from './run-process.js'

interface LeaderElectionOptions {
  client: Client
  clock: Clock
  log: Log
  namespace: string
  name: string
  identity: string
  leaseDurationMs?: number
  renewDeadlineMs?: number
  retryPeriodMs?: number
  random?: Random
  signal: AbortSignal
  /** Runs while the Lease is held; its signal fires when it is lost or the process ends. */
  lead(signal: AbortSignal): Promise<void>
  onEvent?(lease: PersistedObject, message: string): void
  /** Called whenever the Lease was taken or renewed. */
  onHeld?(): void
}

/** The settings that flags have. */
export type ElectionSettings = Required<
  Pick<
    LeaderElectionOptions,
    'namespace' | 'name' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'
  >
>

/** client-go's. */
const leaseDurationDefaultMs = 15_000
const renewDeadlineDefaultMs = 10_000
const retryPeriodDefaultMs = 2_000
/** Who waits for the Lease waits up to this part longer, so that many do not ask together (JitterFactor). */
export const electionJitter = 1.2

interface Observed {
  record: string
  atMs: number
}

/**
 * Resolves when `lead` has ended, which it does after the signal; rejects when it failed. Rejects as soon as the Lease is
 * lost: the process must then end, with whatever is under way, because another one is about to lead.
 */
export const runAsLeader = async (options: LeaderElectionOptions): Promise<void> => {
  const { log, signal } = options
  const elector = new Elector(options)
  const heldSince = await acquire(elector, options)
  if (heldSince === undefined) return
  log.info({ identity: options.identity }, 'became leader')
  const lost = new AbortController()
  const over = new AbortController()
  const leading = options.lead(AbortSignal.any([signal, lost.signal])).finally(() => over.abort())
  // Awaited below; a failure must not go unhandled until then.
  leading.catch(() => {})
  const isHeld = await renew(elector, options, { heldSince, over: over.signal })
  if (!isHeld) {
    lost.abort()
    throw new Error('lost the leader lease')
  }
  try {
    await leading
  } finally {
    await elector.release()
  }
}

/** When it asked for the Lease that it got (of performance.now); undefined when the signal fired before. */
const acquire = async (
  elector: Elector,
  {
    signal,
    retryPeriodMs = retryPeriodDefaultMs,
    renewDeadlineMs = renewDeadlineDefaultMs,
    random = systemRandom,
  }: LeaderElectionOptions,
): Promise<number | undefined> => {
  while (!signal.aborted) {
    const began = performance.now()
    if (!(await elector.tryHold()))
      await sleep(retryPeriodMs * (1 + electionJitter * random()), signal)
    // If the answer took longer, another process may hold it by now: it asks again.
    else if (performance.now() - began < renewDeadlineMs) return signal.aborted ? undefined : began
  }
  return undefined
}

/** Until `over` fires; false as soon as the Lease could not be renewed for too long. */
const renew = async (
  elector: Elector,
  {
    retryPeriodMs = retryPeriodDefaultMs,
    renewDeadlineMs = renewDeadlineDefaultMs,
  }: LeaderElectionOptions,
  { heldSince, over }: { heldSince: number; over: AbortSignal },
): Promise<boolean> => {
  let renewedMs = heldSince
  const leftAt = (now: number): number => renewedMs + renewDeadlineMs - now
  for (;;) {
    await sleep(Math.max(0, Math.min(retryPeriodMs, leftAt(performance.now()))), over)
    if (over.aborted) return true
    const began = performance.now()
    const leftMs = leftAt(began)
    if (leftMs <= 0) return false
    // If the server does not answer we must stop leading before another process takes over.
    if (await within(leftMs, elector.tryHold())) renewedMs = began
  }
}

/** False when it takes longer. */
const within = async (ms: number, work: Promise<boolean>): Promise<boolean> => {
  const done = new AbortController()
  try {
    return await Promise.race([work, sleep(ms, done.signal).then(() => false)])
  } finally {
    done.abort()
  }
}

/** As kube-controller-manager and kube-scheduler do it with --leader-elect. `component` is named in the Events. */
export const runElected = (
  deps: ProcessDeps,
  {
    settings,
    component,
    onHeld,
    lead,
  }: Pick<LeaderElectionOptions, 'lead' | 'onHeld'> & {
    settings: ElectionSettings
    component: string
  },
): Promise<void> => {
  const recorder = createEventRecorder({ ...deps, component })
  return runAsLeader({
    ...deps,
    ...settings,
    identity: `${deps.hostname}_${randomUUID()}`,
    onEvent: (lease, message) => recorder.event(lease, 'Normal', 'LeaderElection', message),
    ...(onHeld ? { onHeld } : {}),
    lead,
  })
}

class Elector {
  readonly #options: LeaderElectionOptions
  readonly #durationMs: number
  /** The last seen Lease of another holder, and when it was first seen so. */
  #observed: Observed | undefined

  constructor(options: LeaderElectionOptions) {
    this.#options = options
    this.#durationMs = options.leaseDurationMs ?? leaseDurationDefaultMs
  }

  /** True when the Lease is ours now, taken or renewed. */
  async tryHold(): Promise<boolean> {
    try {
      return await this.#hold()
    } catch (error) {
      this.#options.log.debug({ error: messageOf(error) }, 'leader lease was not written')
      return false
    }
  }

  /** Lets the next one begin at once instead of after the lease's duration. */
  async release(): Promise<void> {
    try {
      const lease = await this.#read()
      if (lease?.spec?.holderIdentity !== this.#options.identity) return
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 }
      await this.#options.client.update(resources.leases, { ...lease, spec })
    } catch (error) {
      this.#options.log.debug({ error: messageOf(error) }, 'leader lease was not released')
    }
  }

  async #hold(): Promise<boolean> {
    const { client, clock, namespace, name, identity, onEvent, onHeld } = this.#options
    const lease = await this.#read()
    if (lease !== undefined && this.#isHeldByOther(lease)) return false
    const spec = this.#specAfter(lease, clock.now())
    const written =
      lease === undefined
        ? await client.create(resources.leases, { metadata: { name, namespace }, spec })
        : await client.update(resources.leases, { ...lease, spec })
    onHeld?.()
    if (lease?.spec?.holderIdentity !== identity) onEvent?.(written, `${identity} became leader`)
    return true
  }

  async #read(): Promise<PersistedObject | undefined> {
    const { client, namespace, name } = this.#options
    try {
      return await client.get(resources.leases, { namespace, name })
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  #isHeldByOther(lease: PersistedObject): boolean {
    const holder: string = lease.spec?.holderIdentity ?? ''
    if (holder === '' || holder === this.#options.identity) return false
    const record = JSON.stringify(lease.spec)
    if (this.#observed?.record !== record) this.#observed = { record, atMs: performance.now() }
    const seconds: number = lease.spec.leaseDurationSeconds ?? this.#durationMs / 1000
    return performance.now() - this.#observed.atMs < seconds * 1000
  }

  #specAfter(previous: PersistedObject | undefined, now: number) {
    const { identity } = this.#options
    const isOurs = previous?.spec?.holderIdentity === identity
    const transitions: number = previous?.spec?.leaseTransitions ?? 0
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(this.#durationMs / 1000)),
      acquireTime: isOurs ? previous.spec.acquireTime : formatMicroTime(now),
      renewTime: formatMicroTime(now),
      leaseTransitions: previous === undefined || isOurs ? transitions : transitions + 1,
    }
  }
}
