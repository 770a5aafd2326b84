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

const namespace = 'kube-system'
const identityLabel = 'apiserver.kubernetes.io/identity'
const identity = 'kube-apiserver'

interface IdentityLeaseDeps {
  readonly storeOf: RequestContext['stores']
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
  readonly hostname: string
}

/** Expired Leases of servers are taken away. */
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
      // Another server has deleted it, or its server is back and has renewed it.
      if (!(error instanceof ApiError) || ![404, 409].includes(error.code)) throw error
    }
  }
}

/**
 * Renewed until it is stopped; then it expires. If it cannot be written (the machine's name may not be a valid label) the
 * server runs all the same, and tries again at each renewal, as upstream.
 */
export class IdentityLease {
  readonly #deps: IdentityLeaseDeps
  readonly #store: Store
  readonly #stopping = new AbortController()
  #working: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: IdentityLeaseDeps) {
    const store = deps.storeOf({ group: 'coordination.k8s.io', resource: 'leases' })
    if (store === undefined) throw new Error('no store for leases')
    this.#deps = deps
    this.#store = store
  }

  /** `peerAddress` is where other servers of the cluster find this one: `192.0.2.2:6443`. Yields the name of this one. */
  async hold(peerAddress: string): Promise<string> {
    const { hostname } = this.#deps
    const hash = createHash('sha256').update(`${hostname} ${peerAddress}`).digest('hex')
    const name = `apiserver-${hash.slice(0, 26)}`
    const holder = { name, holderIdentity: `${name}_${randomIds.uid()}`, peerAddress }
    await this.#tick(holder)
    this.#timer = setInterval(() => {
      this.#working = this.#working.then(() => this.#tick(holder))
    }, limits.identityLeaseRenewMs)
    this.#timer.unref()
    return name
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await this.#working
  }

  async #tick(holder: Holder): Promise<void> {
    try {
      await this.#renew(holder)
      await forget(this.#store, this.#context())
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#deps.log('the identity Lease was not renewed', error)
    }
  }

  async #renew(holder: Holder): Promise<void> {
    const ctx = this.#context()
    await this.#store.update(ctx, holder.name, (current) => {
      const object = this.#leaseOf(holder, ctx.now)
      return current === undefined
        ? object
        : { ...current, metadata: { ...current.metadata }, spec: object.spec }
    })
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
