/**
 * The ResourceClaims of Pods: devices are chosen on each node that is looked at, and written into the claims before the
 * Pod is bound (kubernetes, plugins/dynamicresources). What was chosen and is not yet written is in flight: nobody else
 * gets those devices meanwhile.
 */
import { type Clock, formatTime } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { isConflict, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import type { Pod } from '#client/pod.js'
import {
  type Allocation,
  claimFinalizer,
  isAllocated,
  isReservedFor,
  type ResourceClaim,
  resourceClaimKeys,
  resourceClaimsOf,
} from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import type { DeviceSupply } from './allocate.js'
import { DeviceFilter } from './device-filter.js'
import { devicesInUse } from './in-use.js'
import { poolsOf } from './pools.js'
import { type DeviceClass, requestProblem } from './requests.js'

/** What one decision about a Pod finds out about its claims. */
export interface DeviceFindings {
  /** Why the Pod can go nowhere yet, in upstream's words. */
  readonly problem?: string
  readonly claims: readonly ResourceClaim[]
  readonly filter?: DeviceFilter
}

const noClaims: DeviceFindings = { claims: [] }

export class DynamicResources {
  readonly #client: Client
  readonly #clock: Clock
  readonly #claims: Informer<ResourceClaim>
  readonly #slices: Informer<ResourceSlice>
  readonly #classes: Informer<DeviceClass>
  /** By the uid of the claim. */
  readonly #inFlight = new Map<string, Allocation>()

  /** `changed` is told when a Pod might fit that did not before. */
  constructor(
    { client, informers, clock }: { client: Client; informers: InformerFactory; clock: Clock },
    changed: () => void,
  ) {
    this.#client = client
    this.#clock = clock
    this.#claims = informers.for<ResourceClaim>(resources.resourceClaims)
    this.#slices = informers.for<ResourceSlice>(resources.resourceSlices)
    this.#classes = informers.for<DeviceClass>(resources.deviceClasses)
    this.#claims.handle({ onAdd: changed, onUpdate: changed, onDelete: changed })
    for (const informer of [this.#slices, this.#classes])
      informer.handle({ onAdd: changed, onUpdate: changed })
  }

  /** A claim that the Pod names, or that is to be made for it after a template, is not there. */
  awaitsClaim(pod: Pod): boolean {
    return (
      resourceClaimsOf(pod).some(({ isAwaited }) => isAwaited) ||
      resourceClaimKeys(pod).some((key) => this.#claims.store.get(key) === undefined)
    )
  }

  inspect(pod: Pod): DeviceFindings {
    const claims = resourceClaimKeys(pod).map((key) => this.#claims.store.get(key)!)
    if (claims.length === 0) return noClaims
    const classOf = (name: string) => this.#classes.store.get(name)
    for (const claim of claims) {
      const problem = this.#problemOf(claim, pod) ?? requestProblem(claim, classOf)
      if (problem !== undefined) return { claims, problem }
    }
    const supply: DeviceSupply = {
      pools: poolsOf(this.#slices.store.list()),
      classOf,
      inUse: devicesInUse(this.#allocations()),
    }
    return { claims, filter: new DeviceFilter(claims, supply) }
  }

  #problemOf(claim: ResourceClaim, pod: Pod): string | undefined {
    const { name, namespace, uid, deletionTimestamp } = claim.metadata
    if (deletionTimestamp !== undefined) return `resourceclaim "${name}" is being deleted`
    if (this.#inFlight.has(uid))
      return `resource claim ${namespace}/${name} is in the process of being allocated`
    const isFull = (claim.status?.reservedFor ?? []).length >= limits.claimConsumersMax
    return isAllocated(claim) && isFull && !isReservedFor(claim, pod)
      ? 'resourceclaim in use'
      : undefined
  }

  #allocations(): Allocation[] {
    const known = this.#claims.store.list().flatMap(({ status }) => status?.allocation ?? [])
    return [...known, ...this.#inFlight.values()]
  }

  /** Keeps what was chosen on the node from others until `bind` or `release`. */
  reserve({ filter }: DeviceFindings, node: string): void {
    for (const [claim, allocation] of filter?.chosenOn(node) ?? [])
      this.#inFlight.set(claim.metadata.uid, allocation)
  }

  /** Writes allocations and reservations. */
  async bind({ claims }: DeviceFindings, pod: Pod): Promise<void> {
    for (const claim of claims)
      if (!isReservedFor(claim, pod)) {
        await this.#bindClaim(claim, pod)
        this.#inFlight.delete(claim.metadata.uid)
      }
  }

  /** After a failure: others may have the devices, and the Pod asks for them again. */
  async release({ claims }: DeviceFindings, pod: Pod): Promise<void> {
    for (const { metadata } of claims) this.#inFlight.delete(metadata.uid)
    for (const { metadata } of claims) {
      const { namespace, name, uid } = metadata
      const now = this.#claims.store.get(`${namespace}/${name}`)
      if (now === undefined || !isReservedFor(now, pod)) continue
      const reservedFor = [{ $patch: 'delete', uid: pod.metadata.uid }]
      await this.#client.patch(
        resources.resourceClaims,
        { namespace, name },
        { metadata: { uid }, status: { reservedFor } },
        { type: 'strategic', subresource: 'status' },
      )
    }
  }

  /** The first try goes by what the watch has shown; after a conflict the claim is asked for anew. */
  async #bindClaim(known: ResourceClaim, pod: Pod): Promise<void> {
    const { namespace, name } = known.metadata
    for (let tries = 1, claim = known; ; tries++) {
      try {
        return this.#claims.observe(await this.#write(claim, pod))
      } catch (error) {
        if (!isConflict(error) || tries === limits.claimWriteTriesMax) throw error
      }
      claim = await this.#client.get<ResourceClaim>(resources.resourceClaims, { namespace, name })
    }
  }

  async #write(claim: ResourceClaim, pod: Pod): Promise<ResourceClaim> {
    const { name, namespace, uid, deletionTimestamp } = claim.metadata
    const label = `claim ${namespace}/${name}`
    if (deletionTimestamp !== undefined) throw new Error(`${label} got deleted in the meantime`)
    const chosen = this.#inFlight.get(uid)
    if (chosen !== undefined && isAllocated(claim))
      throw new Error(`${label} got allocated elsewhere in the meantime`)
    const allocation = chosen ?? claim.status?.allocation
    if (allocation === undefined)
      throw new Error(`${label} got deallocated elsewhere in the meantime`)
    const held = await this.#withFinalizer(claim)
    const consumer = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid }
    const status = {
      ...held.status,
      allocation: { allocationTimestamp: formatTime(this.#clock.now()), ...allocation },
      reservedFor: [...(held.status?.reservedFor ?? []), consumer],
    }
    return this.#client.update(
      resources.resourceClaims,
      { ...held, status },
      { subresource: 'status' },
    )
  }

  async #withFinalizer(claim: ResourceClaim): Promise<ResourceClaim> {
    const { finalizers = [] } = claim.metadata
    if (finalizers.includes(claimFinalizer)) return claim
    const metadata = { ...claim.metadata, finalizers: [...finalizers, claimFinalizer] }
    return this.#client.update(resources.resourceClaims, { ...claim, metadata })
  }

  /** A claim that nobody else uses, and that keeps the Pod off nodes. */
  idleClaim({ filter }: DeviceFindings, pod: Pod): ResourceClaim | undefined {
    return [...(filter?.unavailable ?? [])].find(({ status }) =>
      (status?.reservedFor ?? []).every(({ uid }) => uid === pod.metadata.uid),
    )
  }

  /** Takes its devices from a claim, so that it is allocated anew (upstream's PostFilter). */
  async deallocate(claim: ResourceClaim): Promise<void> {
    try {
      const bare = { ...claim, status: {} }
      this.#claims.observe(
        await this.#client.update(resources.resourceClaims, bare, { subresource: 'status' }),
      )
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error
    }
  }
}
