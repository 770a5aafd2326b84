/**
 * The Lease in kube-system that shows that an API server lives; and deletes those of servers that are gone (kubernetes,
 * pkg/controlplane: the controllers of apiserver identities).
 */
import { createHash } from 'node:crypto'
import { type Clock, formatMicroTime, parseTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import { decodeObject } from '#registry/decode.js'
import { randomIds } from '#registry/ids.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { Rounds } from './rounds.js'

const namespace = 'kube-system'
const identityLabel = 'apiserver.kubernetes.io/identity'
const identity = 'kube-apiserver'

interface IdentityLeaseDeps {
  readonly storeOf: RequestContext['stores']
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
  readonly hostname: string
  /** Whether there may be other servers of the same store. */
  readonly isShared: boolean
}

/** Deletes expired Leases of servers. */
const forget = async (store: Store, ctx: RequestContext): Promise<void> => {
  const { items } = await listAll(store, namespace)
  for (const { object } of items) {
    const { name = '', uid, labels } = object.metadata
    const { renewTime = '', leaseDurationSeconds = 0 } = object.spec ?? {}
    const endsAt = parseTime(renewTime) + leaseDurationSeconds * 1000
    if (labels?.[identityLabel] !== identity || endsAt >= ctx.now) continue
    try {
      await store.delete(ctx, name, { ...(uid === undefined ? {} : { preconditions: { uid } }) })
    } catch (error) {
      // Another server has deleted it, or the server that holds it is back and has renewed it.
      if (!(error instanceof ApiError) || ![404, 409].includes(error.code)) throw error
    }
  }
}

const lengthPrefixed = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const base32 = (bytes: Buffer): string => {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += base32Alphabet[(value >> (bits - 5)) & 31]
    value &= 255
  }
  return bits === 0 ? text : text + base32Alphabet[(value << (5 - bits)) & 31]
}
const base32Alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Upstream's name (apiserver, pkg/server/config.go NewConfig): a server takes over from the one before it on the same
 * machine, kube-apiserver or not.
 */
export const serverIdentity = (hostname: string): string => {
  const named = Buffer.concat([lengthPrefixed(hostname), lengthPrefixed(identity)])
  return `apiserver-${base32(createHash('sha256').update(named).digest().subarray(0, 16))}`
}

/**
 * Renewed until the server ends, which deletes it; a killed server's expires. If it cannot be written (the machine's name
 * may not be a valid label) the server runs all the same, and tries again at each renewal, as upstream.
 */
export class IdentityLease {
  readonly #deps: IdentityLeaseDeps
  readonly #store: Store
  readonly #stopping = new AbortController()
  #holder: Holder | undefined
  readonly #renewals = new Rounds()

  constructor(deps: IdentityLeaseDeps) {
    const store = deps.storeOf({ group: 'coordination.k8s.io', resource: 'leases' })
    if (store === undefined) throw new Error('no store for leases')
    this.#deps = deps
    this.#store = store
  }

  /** `peerAddress` is where other servers of the cluster find this one: `192.0.2.2:6443`. Yields the name of this one. */
  async hold(peerAddress: string): Promise<string> {
    const { hostname, isShared } = this.#deps
    const name = serverIdentity(hostname)
    const holder = { name, holderIdentity: `${name}_${randomIds.uid()}`, peerAddress }
    this.#holder = holder
    await this.#attempt('written', () => this.#begin(holder))
    // Nobody checks whether the only server of a store is alive, and its idle disk may sleep.
    const everyMs = isShared ? limits.peerRenewMs : limits.identityLeaseRenewMs
    this.#renewals.start(everyMs, () => this.#attempt('renewed', () => this.#renew(holder)))
    return name
  }

  /** Does not reject. */
  async release(): Promise<void> {
    await this.#renewals.stop()
    const holder = this.#holder
    if (holder === undefined) return
    await this.#attempt('removed', () => this.#remove(holder))
    this.#stopping.abort()
  }

  async #attempt(what: string, make: () => Promise<void>): Promise<void> {
    try {
      await make()
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#deps.log(`the identity Lease was not ${what}`, error)
    }
  }

  /**
   * What the server before has left is no sign of life of this one (component-helpers, the lease controller's Start).
   */
  async #begin(holder: Holder): Promise<void> {
    await this.#remove(holder)
    await this.#renew(holder)
  }

  async #remove({ name }: Holder): Promise<void> {
    try {
      await this.#store.delete(this.#context(), name, {})
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error
    }
  }

  async #renew(holder: Holder): Promise<void> {
    const ctx = this.#context()
    await this.#store.update(ctx, holder.name, (current) => {
      const { metadata, ...lease } = this.#leaseOf(holder, ctx.now)
      return { ...lease, metadata: { ...current?.metadata, ...metadata } }
    })
    await forget(this.#store, ctx)
  }

  #leaseOf({ name, holderIdentity, peerAddress }: Holder, now: number): KubeObject {
    const { object } = decodeObject(this.#store.definition, {
      metadata: {
        name,
        namespace,
        labels: { [identityLabel]: identity, 'kubernetes.io/hostname': this.#deps.hostname },
        annotations: { 'kubernetes.io/peer-advertise-address': peerAddress },
      },
      spec: {
        holderIdentity,
        leaseDurationSeconds: limits.identityLeaseSeconds,
        renewTime: formatMicroTime(now),
      },
    })
    return object
  }

  #context(): RequestContext {
    const { storeOf, clock } = this.#deps
    return internalContext({ stores: storeOf, now: clock.now(), caller: this.#stopping }, namespace)
  }
}

interface Holder {
  /** Of the Lease. */
  readonly name: string
  readonly holderIdentity: string
  readonly peerAddress: string
}
