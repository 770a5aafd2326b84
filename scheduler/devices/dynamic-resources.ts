/**
 * The ResourceClaims of Pods: devices are chosen on each node that is looked at, and written into the claims before the
 * Pod is bound (kubernetes, plugins/dynamicresources). What was chosen and is not yet written is in flight: nobody else
 * gets those devices meanwhile.
 */
import type { Clock } from '#api/clock.js'
import { Changes } from '#async/changes.js'
import type { Client } from '#client/client.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import { keyOf } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import {
  type Allocation,
  isAllocated,
  isMadeFor,
  isReservedFor,
  type ResourceClaim,
  resourceClaimsOf,
} from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { asksForDevices, type Concerns, concernedBy, usesDevices } from '../waking-changes.js'
import type { DeviceSupply } from './allocate.js'
import { ClaimWriter } from './claim-writer.js'
import { type Chosen, DeviceFilter } from './device-filter.js'
import { type DeviceTotals, deviceTotals } from './device-totals.js'
import { ExtendedClaim, findExtendedClaim } from './extended-claim.js'
import { classesByResource } from './extended-resources.js'
import { devicesInUse } from './in-use.js'
import { poolsOf } from './pools.js'
import { hasToBeReady, readinessOf, readyBy } from './readiness.js'
import { type DeviceClass, requestProblem } from './requests.js'

/** What one decision about a Pod finds out about its claims. */
export interface DeviceFindings {
  /** Why the Pod can go nowhere yet, in upstream's words. */
  readonly problem?: string
  /** Those that the Pod names, and those that were made for it after a template. */
  readonly claims: readonly ResourceClaim[]
  /** What was made for its extended resources in an attempt that failed. */
  readonly leftOver?: ResourceClaim
  readonly filter?: DeviceFilter
}

const noClaims: DeviceFindings = { claims: [] }

export class DynamicResources {
  readonly #clock: Clock
  readonly #claims: Informer<ResourceClaim>
  readonly #slices: Informer<ResourceSlice>
  readonly #classes: Informer<DeviceClass>
  readonly #writer: ClaimWriter
  readonly #claimChanges = new Changes()
  /** By the uid of the claim. */
  readonly #inFlight = new Map<string, Allocation>()
  /** Made anew when classes have changed. */
  #classesByResource: ReadonlyMap<string, DeviceClass> | undefined

  /** `changed` is told when a Pod might fit that did not before. */
  constructor(
    { client, informers, clock }: { client: Client; informers: InformerFactory; clock: Clock },
    changed: (concerns: Concerns) => void,
  ) {
    this.#clock = clock
    this.#claims = informers.for<ResourceClaim>(resources.resourceClaims)
    this.#slices = informers.for<ResourceSlice>(resources.resourceSlices)
    this.#classes = informers.for<DeviceClass>(resources.deviceClasses)
    this.#writer = new ClaimWriter({ client, clock, claims: this.#claims })
    const claimChanged = (concerns: Concerns): void => {
      this.#claimChanges.tell()
      changed(concerns)
    }
    this.#claims.handle({
      onAdd: (claim) => claimChanged(usesDevices(claim)),
      onUpdate: (claim, previous) => claimChanged(concernedBy(claim, previous)),
      onDelete: () => claimChanged(asksForDevices),
    })
    const slicesChanged = (): void => changed(asksForDevices)
    this.#slices.handle({ onAdd: slicesChanged, onUpdate: slicesChanged })
    const classChanged = (): void => {
      this.#classesByResource = undefined
      changed(asksForDevices)
    }
    this.#classes.handle({ onAdd: classChanged, onUpdate: classChanged, onDelete: classChanged })
  }

  /** Whether nodes may have the resource as devices. */
  readonly classFor = (resource: string): DeviceClass | undefined => {
    this.#classesByResource ??= classesByResource(this.#classes.store.list())
    return this.#classesByResource.get(resource)
  }

  /** A claim is not there that the Pod names, or that is to be made for it; or it is about to go, or is another Pod's. */
  awaitsClaim(pod: Pod): boolean {
    return resourceClaimsOf(pod).some(({ name, isMade, isAwaited }) => {
      const claim = name === undefined ? undefined : this.#claim(pod, name)
      if (claim === undefined) return isAwaited || name !== undefined
      return claim.metadata.deletionTimestamp !== undefined || (isMade && !isMadeFor(claim, pod))
    })
  }

  #claim({ metadata }: Pod, name: string): ResourceClaim | undefined {
    return this.#claims.store.get(`${metadata.namespace}/${name}`)
  }

  /** `timeoutMs`: how long drivers have to prepare devices. */
  inspect(pod: Pod, timeoutMs: number): DeviceFindings {
    const claims = resourceClaimsOf(pod).flatMap(({ name }) =>
      name === undefined ? [] : this.#claim(pod, name)!,
    )
    const extended = ExtendedClaim.for(pod, this.classFor)
    if (claims.length === 0 && extended === undefined) return noClaims
    const leftOver = extended && findExtendedClaim(pod, this.#claims.store.list())
    const classOf = (name: string) => this.#classes.store.get(name)
    for (const claim of claims) {
      const problem = this.#problemOf(claim, pod) ?? requestProblem(claim, classOf)
      if (problem !== undefined) return { claims, problem }
    }
    const supply: DeviceSupply = { ...this.#devices(), classOf }
    const stuck = new Set(claims.filter((claim) => this.#isStuck(claim, timeoutMs)))
    const filter = new DeviceFilter({ claims, stuck, extended, leftOver }, supply)
    return { claims, filter, ...(leftOver && { leftOver }) }
  }

  #devices(): Pick<DeviceSupply, 'pools' | 'inUse'> {
    return {
      pools: poolsOf(this.#slices.store.list()),
      inUse: devicesInUse(this.#allocations()),
    }
  }

  /** For one decision: `devicesOn` of its view. Most have nothing to do with devices. */
  totals(): (resource: string, node: Node) => DeviceTotals | undefined {
    let devices: Pick<DeviceSupply, 'pools' | 'inUse'> | undefined
    return (resource, node) => {
      const deviceClass = this.classFor(resource)
      if (deviceClass === undefined) return undefined
      devices ??= this.#devices()
      return deviceTotals(deviceClass, node, devices)
    }
  }

  #problemOf(claim: ResourceClaim, pod: Pod): string | undefined {
    const { name, namespace, uid } = claim.metadata
    if (this.#inFlight.has(uid))
      return `resource claim ${namespace}/${name} is in the process of being allocated`
    const isFull = (claim.status?.reservedFor ?? []).length >= limits.claimConsumersMax
    return isAllocated(claim) && isFull && !isReservedFor(claim, pod)
      ? 'resourceclaim in use'
      : undefined
  }

  #isStuck(claim: ResourceClaim, timeoutMs: number): boolean {
    return typeof readinessOf(claim, { now: this.#clock.now(), timeoutMs }) === 'object'
  }

  #allocations(): Allocation[] {
    const known = this.#claims.store.list().flatMap(({ status }) => status?.allocation ?? [])
    return [...known, ...this.#inFlight.values()]
  }

  /** Keeps what was chosen on the node from others until `bind` or `release`. */
  reserve({ filter }: DeviceFindings, node: string): void {
    for (const [claim, allocation] of filter?.chosenOn(node).allocations ?? [])
      this.#inFlight.set(claim.metadata.uid, allocation)
  }

  /** Writes allocations and reservations. Resolves to the claims of the Pod, as far as they have devices. */
  async bind({ claims, filter }: DeviceFindings, pod: Pod, node: string): Promise<string[]> {
    for (const claim of claims)
      if (!isReservedFor(claim, pod)) await this.#bindClaim(claim, pod, claim.metadata.uid)
    const extended = filter?.chosenOn(node).extended
    if (extended === undefined) return claims.map(keyOf)
    const made = await this.#bindExtended(extended, pod)
    return [...claims, made].map(keyOf)
  }

  /** `chosenFor`: the uid under which its allocation is in flight. */
  #bindClaim(claim: ResourceClaim, pod: Pod, chosenFor: string): Promise<void> {
    const chosen = this.#inFlight.get(chosenFor)
    return this.#writer.bind(claim, pod, chosen, () => this.#inFlight.delete(chosenFor))
  }

  async #bindExtended(
    { claim, mappings }: NonNullable<Chosen['extended']>,
    pod: Pod,
  ): Promise<ResourceClaim> {
    const made = await this.#writer.create(claim)
    await this.#bindClaim(made, pod, claim.metadata.uid)
    await this.#writer.tellPod(pod, made, mappings)
    return made
  }

  /** Whether drivers have to prepare devices of these claims, which are given by their keys. */
  haveToBeReady(keys: readonly string[]): boolean {
    return keys.some((key) => {
      const claim = this.#claims.store.get(key)
      return claim !== undefined && hasToBeReady(claim)
    })
  }

  /** True when all devices are ready, false when the signal fires. Throws if they will not be, in upstream's words. */
  async untilReady(
    keys: readonly string[],
    pod: Pod,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<boolean> {
    const ignoreMoves = this.#clock.onMove?.(() => this.#claimChanges.tell())
    try {
      while (!signal.aborted) {
        const waitsMs = this.#waitsMs(keys, pod, timeoutMs)
        if (waitsMs === undefined) return true
        await this.#claimChanges.next(waitsMs, signal)
      }
      return false
    } finally {
      ignoreMoves?.()
    }
  }

  /** How long drivers may still take; undefined: all is ready. */
  #waitsMs(keys: readonly string[], pod: Pod, timeoutMs: number): number | undefined {
    const now = this.#clock.now()
    for (const key of keys) {
      const claim = this.#claims.store.get(key)
      if (claim === undefined || !isReservedFor(claim, pod))
        throw new Error(`claim ${key} got deallocated elsewhere in the meantime`)
      const readiness = readinessOf(claim, { now, timeoutMs })
      if (readiness === 'ready') continue
      if (readiness === 'pending') return (readyBy(claim, timeoutMs) ?? now) - now + 1
      throw new Error(readiness.problem)
    }
    return undefined
  }

  /** After a failure: others may have the devices, and the Pod asks for them again. */
  async release({ claims, filter }: DeviceFindings, pod: Pod, node: string): Promise<void> {
    for (const claim of filter?.chosenOn(node).allocations.keys() ?? [])
      this.#inFlight.delete(claim.metadata.uid)
    for (const claim of claims) await this.#writer.unreserve(claim, pod)
    const extended = findExtendedClaim(pod, this.#claims.store.list())
    if (extended !== undefined) await this.#writer.remove(extended)
  }

  /** A claim that nobody else uses, and that keeps the Pod off nodes. */
  #idleClaim({ filter }: DeviceFindings, pod: Pod): ResourceClaim | undefined {
    return [...(filter?.unavailable ?? [])].find(({ status }) =>
      (status?.reservedFor ?? []).every(({ uid }) => uid === pod.metadata.uid),
    )
  }

  /** What is done so that the Pod may find a node the next time, and what upstream's PostFilter says of it. */
  remedy(findings: DeviceFindings, pod: Pod): { message: string; act?: () => Promise<void> } {
    const { leftOver, filter } = findings
    const idle = this.#idleClaim(findings, pod)
    if (idle !== undefined)
      return {
        message: 'deallocation of ResourceClaim completed',
        act: () => this.#writer.deallocate(idle),
      }
    if (leftOver !== undefined)
      return {
        message: 'deletion of ResourceClaim completed',
        act: () => this.#writer.remove(leftOver),
      }
    // It has looked at claims.
    const isKnown = filter !== undefined
    return { message: isKnown ? 'still not schedulable' : 'no new claims to deallocate' }
  }
}
