/**
 * The Lease in kube-system by which an API server is known to be there, and those of servers that are gone
 * (kubernetes, pkg/controlplane: the controllers of apiserver identities).
 */
import { createHash } from 'node:crypto'
import { type Clock, formatMicroTime, parseTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import { decodeObject } from '#registry/decode.js'
import { randomIds } from '#registry/ids.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'

const namespace = 'kube-system'
const identityLabel = 'apiserver.kubernetes.io/identity'
const identity = 'kube-apiserver'

export interface IdentityLeaseDeps {
  readonly stores: RequestContext['stores']
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
  readonly hostname: string
  /** Where other servers of the cluster find this one: `192.0.2.2:6443`. */
  readonly peerAddress: string
}

/** Expired Leases of servers are taken away. */
const forget = async (store: Store, ctx: RequestContext): Promise<void> => {
  const { items } = await store.list(ctx, {
    selection: { prefix: `${store.definition.storagePrefix}/${namespace}/` },
    consistency: { kind: 'consistent' },
    limit: 0,
  })
  for (const { object } of items) {
    const { name = '', uid, labels } = object.metadata
    const { renewTime = '', leaseDurationSeconds = 0 } = object.spec ?? {}
    const endsAt = parseTime(renewTime) + leaseDurationSeconds * 1000
    if (labels?.[identityLabel] !== identity || endsAt >= ctx.now) continue
    try {
      await store.delete(ctx, name, { ...(uid === undefined ? {} : { preconditions: { uid } }) })
    } catch (error) {
      // Another server was first, or its server is back.
      if (!(error instanceof ApiError) || ![404, 409].includes(error.code)) throw error
    }
  }
}

/**
 * Holds the Lease until it is stopped: it then expires. A server whose Lease cannot be written (the name of the machine
 * may be no label) serves all the same, and tries again at each renewal, as upstream.
 */
export const holdIdentityLease = async ({
  stores,
  clock,
  log,
  hostname,
  peerAddress,
}: IdentityLeaseDeps): Promise<{ stop(): Promise<void> }> => {
  const store = stores({ group: 'coordination.k8s.io', resource: 'leases' })
  if (store === undefined) throw new Error('no store for leases')
  const caller = new AbortController()
  const hash = createHash('sha256').update(`${hostname} ${peerAddress}`).digest('hex')
  const name = `apiserver-${hash.slice(0, 26)}`
  const holderIdentity = `${name}_${randomIds.uid()}`
  const leaseOf = (now: number, current?: KubeObject): KubeObject => {
    const { object } = decodeObject(store.definition, {
      metadata: {
        name,
        namespace,
        labels: { [identityLabel]: identity, 'kubernetes.io/hostname': hostname },
        annotations: { 'kubernetes.io/peer-advertise-address': peerAddress },
      },
      spec: {
        holderIdentity,
        leaseDurationSeconds: limits.identityLeaseSeconds,
        renewTime: formatMicroTime(now),
      },
    })
    return current === undefined
      ? object
      : { ...current, metadata: { ...current.metadata }, spec: object.spec }
  }
  const contextAt = (now: number): RequestContext =>
    internalContext({ stores, now, caller }, namespace)
  const renew = async (): Promise<void> => {
    const now = clock.now()
    await store.update(contextAt(now), name, (current) => leaseOf(now, current))
  }
  let working: Promise<void> = Promise.resolve()
  const tick = async (): Promise<void> => {
    try {
      await renew()
      await forget(store, contextAt(clock.now()))
    } catch (error) {
      if (!caller.signal.aborted) log('the identity Lease was not renewed', error)
    }
  }
  await tick()
  const timer = setInterval(() => {
    working = working.then(tick)
  }, limits.identityLeaseRenewMs)
  timer.unref()
  return {
    stop: async () => {
      clearInterval(timer)
      caller.abort()
      await working
    },
  }
}
