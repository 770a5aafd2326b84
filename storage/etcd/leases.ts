/** Leases for values that expire. As upstream, values of one lifetime that are written close together share one. */
import type { Clock } from '#api/clock.js'
import { limits } from '#limits'
import { type EtcdApi, writeCall } from './api.js'

/** May be retried: a lease that nobody uses ends by itself. */
const grantCall = { ...writeCall, retries: true }

/** A lease is reused for this part of its lifetime, as upstream's LeaseManager does. */
const reusePart = 0.05

interface Lease {
  readonly id: string
  readonly reuseUntil: number
  uses: number
}

export class Leases {
  readonly #api: EtcdApi
  readonly #clock: Clock
  readonly #current = new Map<number, Promise<Lease>>()

  constructor(api: EtcdApi, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  /** The ID of a lease that lives at least this long. */
  async get(ttlSeconds: number): Promise<string> {
    const current = this.#current.get(ttlSeconds)
    if (current !== undefined) {
      const lease = await current.catch(() => undefined)
      if (
        lease !== undefined &&
        lease.uses < limits.leaseUsesMax &&
        this.#clock.now() < lease.reuseUntil
      ) {
        lease.uses++
        return lease.id
      }
      // While this waited, it may have been replaced or forgotten by others.
      if (this.#current.get(ttlSeconds) === current) this.#current.delete(ttlSeconds)
    }
    let next = this.#current.get(ttlSeconds)
    if (next === undefined) this.#current.set(ttlSeconds, (next = this.#grant(ttlSeconds)))
    return (await next).id
  }

  /** Drops the current lease, which is not in etcd any more: a clock was set, or somebody revoked it. */
  forget(): void {
    this.#current.clear()
  }

  async #grant(ttlSeconds: number): Promise<Lease> {
    const reuseSeconds = Math.min(Math.floor(ttlSeconds * reusePart), limits.leaseReuseSecondsMax)
    const now = this.#clock.now()
    const request = { TTL: String(ttlSeconds + reuseSeconds), ID: '0' }
    const { ID } = await this.#api.call<{ ID: string }>('Lease', 'LeaseGrant', request, grantCall)
    return { id: ID, reuseUntil: now + reuseSeconds * 1000, uses: 1 }
  }
}
