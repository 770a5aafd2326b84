/**
 * One of several processes works at a time: the holder of a Lease. Who holds it renews it; the others take it when it
 * was not renewed for its whole duration, measured by their own clock (so that clocks need not agree). As client-go.
 */
import { type Clock, formatMicroTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { sleep } from './backoff.js'
import type { Client } from './client.js'
import { isNotFound, messageOf } from './errors.js'
import type { Log } from './log.js'
import { resources } from './resources.js'

export interface LeaderElectionOptions {
  client: Client
  clock: Clock
  log: Log
  namespace: string
  name: string
  identity: string
  leaseDurationMs?: number
  renewDeadlineMs?: number
  retryPeriodMs?: number
  signal: AbortSignal
  /** Runs while the Lease is held; its signal fires when it is lost or the process ends. */
  lead(signal: AbortSignal): Promise<void>
  onEvent?(lease: KubeObject, message: string): void
}

interface Observed {
  record: string
  atMs: number
}

/** Resolves when the signal fires after `lead` ended; rejects when the Lease was lost: the process must then end. */
export const runAsLeader = async (options: LeaderElectionOptions): Promise<void> => {
  const { clock, log, signal } = options
  const retryMs = options.retryPeriodMs ?? 2_000
  const deadlineMs = options.renewDeadlineMs ?? 10_000
  const elector = createElector(options)
  while (!signal.aborted && !(await elector.tryHold())) await sleep(retryMs, signal)
  if (signal.aborted) return
  log.info({ identity: options.identity }, 'became leader')
  const lost = new AbortController()
  const leading = options.lead(AbortSignal.any([signal, lost.signal]))
  let renewedMs = clock.now()
  while (!signal.aborted) {
    await sleep(retryMs, signal)
    if (signal.aborted) break
    if (await elector.tryHold()) renewedMs = clock.now()
    else if (clock.now() - renewedMs > deadlineMs) {
      lost.abort()
      await leading
      throw new Error('lost the leader lease')
    }
  }
  await leading
  await elector.release()
}

const createElector = (options: LeaderElectionOptions) => {
  const { client, clock, log, namespace, name, identity } = options
  const durationMs = options.leaseDurationMs ?? 15_000
  let observed: Observed | undefined

  const specOf = (previous: KubeObject | undefined, now: number) => {
    const mine = previous?.spec?.holderIdentity === identity
    const transitions: number = previous?.spec?.leaseTransitions ?? 0
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(durationMs / 1000)),
      acquireTime: mine ? previous.spec.acquireTime : formatMicroTime(now),
      renewTime: formatMicroTime(now),
      leaseTransitions: previous === undefined || mine ? transitions : transitions + 1,
    }
  }

  const readLease = async (): Promise<KubeObject | undefined> => {
    try {
      return await client.get(resources.leases, { namespace, name })
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  const isHeldByOther = (lease: KubeObject): boolean => {
    const holder: string = lease.spec?.holderIdentity ?? ''
    if (holder === '' || holder === identity) return false
    const record = JSON.stringify(lease.spec)
    if (observed?.record !== record) observed = { record, atMs: clock.now() }
    const seconds: number = lease.spec.leaseDurationSeconds ?? durationMs / 1000
    return clock.now() - observed.atMs < seconds * 1000
  }

  const hold = async (): Promise<boolean> => {
    const lease = await readLease()
    if (lease !== undefined && isHeldByOther(lease)) return false
    const spec = specOf(lease, clock.now())
    const written =
      lease === undefined
        ? await client.create(resources.leases, { metadata: { name, namespace }, spec })
        : await client.update(resources.leases, { ...lease, spec })
    if (lease?.spec?.holderIdentity !== identity)
      options.onEvent?.(written, `${identity} became leader`)
    return true
  }

  return {
    async tryHold(): Promise<boolean> {
      try {
        return await hold()
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'leader lease was not written')
        return false
      }
    },
    /** Lets the next one begin at once instead of after the lease's duration. */
    async release(): Promise<void> {
      try {
        const lease = await readLease()
        if (lease?.spec?.holderIdentity !== identity) return
        const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 }
        await client.update(resources.leases, { ...lease, spec })
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'leader lease was not released')
      }
    },
  }
}
