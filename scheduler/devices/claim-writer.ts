/** Writes what was chosen for a Pod into its claims, and takes it back. */
import { type Clock, formatTime } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { isConflict, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { ExtendedResourceMapping, Pod } from '#client/pod.js'
import {
  type Allocation,
  claimFinalizer,
  isAllocated,
  isReservedFor,
  type ResourceClaim,
} from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { failsAs } from '../fails-as.js'

export class ClaimWriter {
  readonly #client: Client
  readonly #clock: Clock
  readonly #claims: Informer<ResourceClaim>

  constructor(deps: { client: Client; clock: Clock; claims: Informer<ResourceClaim> }) {
    this.#client = deps.client
    this.#clock = deps.clock
    this.#claims = deps.claims
  }

  /** The first try goes by what the watch has shown; after a conflict the claim is asked for anew. */
  async #retry<T>(known: ResourceClaim, write: (claim: ResourceClaim) => Promise<T>): Promise<T> {
    const { namespace, name } = known.metadata
    for (let tries = 1, claim = known; ; tries++) {
      try {
        return await write(claim)
      } catch (error) {
        const { cause = error } = error as Error
        if (!isConflict(cause) || tries === limits.claimWriteTriesMax) throw error
      }
      claim = await failsAs(`get updated claim ${namespace}/${name} after conflict`, () =>
        this.#client.get<ResourceClaim>(resources.resourceClaims, { namespace, name }),
      )
    }
  }

  /** Reserves it for the Pod, with `chosen` if it has no devices yet. `written` is called as soon as all can see that. */
  async bind(
    known: ResourceClaim,
    pod: Pod,
    chosen: Allocation | undefined,
    written: () => void,
  ): Promise<void> {
    const answer = await this.#retry(known, (claim) => this.#bind(claim, pod, chosen))
    written()
    this.#claims.observe(answer)
  }

  async #bind(
    claim: ResourceClaim,
    pod: Pod,
    chosen: Allocation | undefined,
  ): Promise<ResourceClaim> {
    const { name, namespace, deletionTimestamp } = claim.metadata
    const label = `claim ${namespace}/${name}`
    if (deletionTimestamp !== undefined) throw new Error(`${label} got deleted in the meantime`)
    if (chosen !== undefined && isAllocated(claim))
      throw new Error(`${label} got allocated elsewhere in the meantime`)
    const allocation = chosen ?? claim.status?.allocation
    if (allocation === undefined)
      throw new Error(`${label} got deallocated elsewhere in the meantime`)
    const held =
      chosen === undefined
        ? claim
        : await failsAs(`add finalizer to ${label}`, () => this.#withFinalizer(claim))
    const consumer = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid }
    const status = {
      ...held.status,
      allocation: { allocationTimestamp: formatTime(this.#clock.now()), ...allocation },
      reservedFor: [...(held.status?.reservedFor ?? []), consumer],
    }
    const what = chosen === undefined ? 'reservation' : 'allocation and reservation'
    return failsAs(`add ${what} to ${label}`, () => this.#updateStatus({ ...held, status }))
  }

  #updateStatus(claim: ResourceClaim): Promise<ResourceClaim> {
    return this.#client.update(resources.resourceClaims, claim, { subresource: 'status' })
  }

  async #withFinalizer(claim: ResourceClaim): Promise<ResourceClaim> {
    const { finalizers = [] } = claim.metadata
    if (finalizers.includes(claimFinalizer)) return claim
    const metadata = { ...claim.metadata, finalizers: [...finalizers, claimFinalizer] }
    return this.#client.update(resources.resourceClaims, { ...claim, metadata })
  }

  /** Makes the claim for the extended resources of a Pod. */
  async create({ metadata, ...claim }: ResourceClaim): Promise<ResourceClaim> {
    const { name: _none, uid: _standIn, resourceVersion: _never, ...named } = metadata
    const created = await this.#client.create<ResourceClaim>(resources.resourceClaims, {
      ...claim,
      metadata: named,
    })
    this.#claims.observe(created)
    return created
  }

  /** Tells the kubelet which claim stands for which resource. */
  async tellPod(
    { metadata: { namespace, name, uid } }: Pod,
    claim: ResourceClaim,
    requestMappings: readonly ExtendedResourceMapping[],
  ): Promise<void> {
    const resourceClaimName = claim.metadata.name
    await this.#client.patch(
      resources.pods,
      { namespace, name },
      {
        metadata: { uid },
        status: { extendedResourceClaimStatus: { resourceClaimName, requestMappings } },
      },
      { type: 'strategic', subresource: 'status' },
    )
  }

  async unreserve({ metadata: { namespace, name } }: ResourceClaim, pod: Pod): Promise<void> {
    const now = this.#claims.store.get(`${namespace}/${name}`)
    if (now === undefined || !isReservedFor(now, pod)) return
    const reservedFor = [{ $patch: 'delete', uid: pod.metadata.uid }]
    const answer = await this.#client.patch<ResourceClaim>(
      resources.resourceClaims,
      { namespace, name },
      { metadata: { uid: now.metadata.uid }, status: { reservedFor } },
      { type: 'strategic', subresource: 'status' },
    )
    this.#claims.observe(answer)
  }

  /** Takes its devices from a claim, so that it is allocated anew (upstream's PostFilter). */
  async deallocate(claim: ResourceClaim): Promise<void> {
    try {
      this.#claims.observe(await this.#updateStatus({ ...claim, status: {} }))
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error
    }
  }

  /** With its devices, and although somebody may use them: nobody does yet. */
  async remove(known: ResourceClaim): Promise<void> {
    const { namespace, name, uid } = known.metadata
    try {
      await this.#retry(known, async ({ metadata, ...claim }) => {
        const finalizers = (metadata.finalizers ?? []).filter((one) => one !== claimFinalizer)
        if (finalizers.length < (metadata.finalizers ?? []).length)
          await this.#client.update(resources.resourceClaims, {
            ...claim,
            metadata: { ...metadata, finalizers },
          })
      })
      const answer = await this.#client.delete(
        resources.resourceClaims,
        { namespace, name },
        { preconditions: { uid } },
      )
      this.#claims.observeDelete(known, answer)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}
