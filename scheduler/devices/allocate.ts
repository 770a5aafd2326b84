/**
 * Chooses devices on one node for the claims of a Pod: every choice in turn until one satisfies all requests and
 * constraints (dynamic-resource-allocation, structured/internal/incubating). Pure but for the ids of shares.
 */
import type { Node } from '#client/pod.js'
import type { Allocation, DeviceTaint, ResourceClaim } from '#client/resource-claim.js'
import { limits } from '#limits'
import { allocationOf, type Chosen } from './allocation.js'
import { CapacityUse, type Taken, takenBy } from './capacity.js'
import { type Constraint, makeConstraint } from './constraints.js'
import { CounterUse } from './counters.js'
import type { DevicesInUse } from './in-use.js'
import { type NearPool, type Pool, type PooledDevice, poolsNear, reaches } from './pools.js'
import { type Alternative, alternativesOf, type DeviceClass } from './requests.js'
import { selectorsMatch } from './selectors.js'

export interface DeviceSupply {
  pools: readonly Pool[]
  classOf(name: string): DeviceClass | undefined
  /** By other claims. */
  inUse: DevicesInUse
}

/** Drivers have published what contradicts itself; on another node claims may be allocated all the same. */
export class InvalidPools extends Error {}

/** `tooMany`: a claim would get more devices than one may have, whichever they are. */
type Outcome = 'found' | 'none' | 'tooMany'

interface Wanted {
  claim: ResourceClaim
  requests: readonly Alternative[][]
  constraints: readonly Constraint[]
  chosen: Chosen[]
  /** Which alternative each request got. */
  ways: Alternative[]
}

const labelOf = ({ metadata }: ResourceClaim): string => `${metadata.namespace}/${metadata.name}`

/** Without a key, a toleration still compares values, unlike a Pod's. */
const isTolerated = ({ asked }: Alternative, { key, value = '', effect }: DeviceTaint): boolean =>
  (asked.tolerations ?? []).some(
    (t) =>
      (!t.effect || t.effect === effect) &&
      (!t.key || t.key === key) &&
      (t.operator === 'Exists' || (t.value ?? '') === value),
  )

const keepsOff = (way: Alternative, taint: DeviceTaint): boolean =>
  ['NoSchedule', 'NoExecute'].includes(taint.effect) && !isTolerated(way, taint)

const isForAll = ({ asked }: Alternative): boolean => asked.allocationMode === 'All'
const countOf = ({ asked }: Alternative): number => asked.count ?? 1

/** False, and nothing is added, if one of them would break. */
const addToAll = (
  constraints: readonly Constraint[],
  names: readonly string[],
  pooled: PooledDevice,
): boolean => {
  for (const [index, constraint] of constraints.entries()) {
    if (constraint.add(names, pooled)) continue
    for (const earlier of constraints.slice(0, index)) earlier.remove(names)
    return false
  }
  return true
}

class Search {
  readonly #wanted: readonly Wanted[]
  readonly #node: Node
  readonly #pools: readonly NearPool[]
  readonly #inUse: DevicesInUse
  /** How many claims of the Pod have a device by now: with admin access several may. */
  readonly #taken = new Map<string, Set<Wanted>>()
  readonly #counters: CounterUse
  readonly #capacities: CapacityUse
  /** Of the pools that are complete. */
  readonly #devices: readonly PooledDevice[]
  /** What alternatives would take of the devices that they select; undefined of those that they do not. */
  readonly #wants = new Map<Alternative, Map<PooledDevice, Taken | undefined>>()
  /** What the alternatives get that want all devices. */
  readonly #all = new Map<Alternative, readonly PooledDevice[]>()
  #choices = 0

  constructor(claims: readonly ResourceClaim[], node: Node, supply: DeviceSupply) {
    this.#node = node
    this.#pools = poolsNear(node, supply.pools)
    this.#devices = this.#pools.flatMap(({ isIncomplete, isInvalid, devices }) =>
      isIncomplete || isInvalid ? [] : devices,
    )
    this.#inUse = supply.inUse
    this.#counters = new CounterUse(supply.inUse)
    this.#capacities = new CapacityUse(supply.inUse.shared)
    this.#wanted = claims.map((claim) => ({
      claim,
      requests: alternativesOf(claim, supply.classOf),
      constraints: (claim.spec.devices?.constraints ?? []).map((constraint, index) => {
        try {
          return makeConstraint(constraint)
        } catch (error) {
          throw new Error(
            `claim ${labelOf(claim)}, constraint #${index}: ${(error as Error).message}`,
          )
        }
      }),
      chosen: [],
      ways: [],
    }))
  }

  run(): Allocation[] | undefined {
    for (const wanted of this.#wanted) this.#prepare(wanted)
    if (this.#request(0, 0) === 'found')
      return this.#wanted.map(({ claim, chosen, ways }) =>
        allocationOf(claim, { chosen, ways, node: this.#node }),
      )
    if (this.#pools.some(({ isInvalid }) => isInvalid))
      throw new InvalidPools('invalid resource pools were encountered')
    return undefined
  }

  /** Finds out how many devices the claim needs at the least. */
  #prepare({ claim, requests }: Wanted): void {
    let least = 0
    for (const ways of requests) {
      const counts = ways.map((way) => {
        if (!isForAll(way)) return countOf(way)
        const all = this.#allDevices(claim, way)
        this.#all.set(way, all)
        return all.length
      })
      least += Math.min(...counts)
    }
    if (least > limits.claimDevicesMax)
      throw new Error(
        `claim ${labelOf(claim)}: number of requested devices ${least} exceeds the claim limit of ${limits.claimDevicesMax}`,
      )
  }

  /** How many "all" are is not known while a pool is being published. */
  #allDevices(claim: ResourceClaim, way: Alternative): PooledDevice[] {
    return this.#pools.flatMap(({ pool: { driver, name }, isIncomplete, isInvalid, devices }) => {
      if (!isIncomplete && !isInvalid)
        return devices.filter((pooled) => {
          const taken = this.#wantedOf(claim, way, pooled)
          return taken !== undefined && this.#capacities.hasRoom(pooled, taken)
        })
      const state = isIncomplete ? 'being updated' : 'invalid'
      throw new Error(
        `claim ${labelOf(claim)}, request ${way.ownName}: asks for all devices, but resource pool ${driver}/${name} is currently ${state}`,
      )
    })
  }

  #request(claimIndex: number, requestIndex: number): Outcome {
    const wanted = this.#wanted[claimIndex]
    if (wanted === undefined) return 'found'
    const ways = wanted.requests[requestIndex]
    if (ways === undefined) {
      const outcome = this.#request(claimIndex + 1, 0)
      // Each claim has a limit of its own.
      return outcome === 'tooMany' ? 'none' : outcome
    }
    const outcomes = new Set<Outcome>()
    for (const way of ways) {
      wanted.ways[requestIndex] = way
      const outcome = this.#way(wanted, way, () => this.#request(claimIndex, requestIndex + 1))
      if (outcome === 'found') return outcome
      outcomes.add(outcome)
    }
    return outcomes.has('none') ? 'none' : 'tooMany'
  }

  #way(wanted: Wanted, way: Alternative, then: () => Outcome): Outcome {
    const all = this.#all.get(way)
    const count = all?.length ?? countOf(way)
    if (all?.length === 0) return 'none'
    if (wanted.chosen.length + count > limits.claimDevicesMax) return 'tooMany'
    return this.#choose(wanted, way, { devices: all ?? this.#devices, count }, 0, then)
  }

  /** Devices whose order does not matter are tried in one order only, so that each begins behind the one before. */
  #choose(
    wanted: Wanted,
    way: Alternative,
    among: { devices: readonly PooledDevice[]; count: number },
    from: number,
    then: () => Outcome,
  ): Outcome {
    const { devices, count } = among
    if (count === 0) return then()
    for (let at = from; at < devices.length; at++) {
      if (++this.#choices > limits.deviceChoicesMax)
        throw new Error(`node ${this.#node.metadata.name}: timed out trying to allocate devices`)
      const giveBack = this.#take(wanted, way, devices[at]!)
      if (giveBack !== undefined) {
        const outcome = this.#choose(wanted, way, { devices, count: count - 1 }, at + 1, then)
        if (outcome === 'found') return outcome
        giveBack()
        // Other devices of this request would leave as little room.
        if (outcome === 'tooMany') return outcome
      }
      if (isForAll(way)) return 'none'
    }
    return 'none'
  }

  /** By class, request and capacity; asked once for each device, and only when it is looked at. */
  #wantedOf(claim: ResourceClaim, way: Alternative, pooled: PooledDevice): Taken | undefined {
    const known = this.#wants.get(way) ?? new Map<PooledDevice, Taken | undefined>()
    this.#wants.set(way, known)
    if (!known.has(pooled)) {
      const { deviceClass, asked } = way
      const isSelected =
        selectorsMatch(`class ${deviceClass.metadata.name}`, deviceClass.spec.selectors, pooled) &&
        selectorsMatch(`claim ${labelOf(claim)}`, asked.selectors, pooled) &&
        reaches(pooled.reach, this.#node)
      known.set(
        pooled,
        isSelected
          ? takenBy(asked.capacity?.requests ?? {}, pooled.device.capacity ?? {})
          : undefined,
      )
    }
    return known.get(pooled)
  }

  #isFree(wanted: Wanted, { asked }: Alternative, { id }: PooledDevice): boolean {
    const taken = this.#taken.get(id)
    // Whoever administers a device may do so beside its users, but a claim names it once.
    if (asked.adminAccess) return !taken?.has(wanted)
    return !this.#inUse.whole.has(id) && (taken === undefined || taken.size === 0)
  }

  /** Whoever takes a further share of a device takes none of its counters again. */
  #takeCounters(pooled: PooledDevice, isShare: boolean): (() => void) | undefined {
    if (isShare && this.#capacities.isShared(pooled)) return () => {}
    return this.#counters.take(pooled) ? () => this.#counters.giveBack(pooled) : undefined
  }

  /** What takes the device back; undefined if it cannot be had. */
  #take(wanted: Wanted, way: Alternative, pooled: PooledDevice): (() => void) | undefined {
    const { id, device } = pooled
    const isShare = device.allowMultipleAllocations === true
    if (!this.#isFree(wanted, way, pooled)) return undefined
    const taken = this.#wantedOf(wanted.claim, way, pooled)
    if (taken === undefined) return undefined
    if ((device.taints ?? []).some((taint) => keepsOff(way, taint))) return undefined
    const giveCountersBack = this.#takeCounters(pooled, isShare)
    if (giveCountersBack === undefined) return undefined
    if (!addToAll(wanted.constraints, way.names, pooled)) {
      giveCountersBack()
      if (!isForAll(way)) return undefined
      throw new Error(
        `claim ${labelOf(wanted.claim)}, request ${way.ownName}: cannot add device ${id} because a claim constraint would not be satisfied`,
      )
    }
    const leave = (): void => {
      for (const constraint of wanted.constraints) constraint.remove(way.names)
      giveCountersBack()
    }
    if (!this.#capacities.hasRoom(pooled, taken)) {
      leave()
      return undefined
    }
    const giveBack = isShare ? this.#takeShare(pooled, taken) : this.#takeWhole(wanted, pooled)
    wanted.chosen.push({ way, pooled, ...(isShare ? { share: taken } : {}) })
    return () => {
      wanted.chosen.pop()
      giveBack()
      leave()
    }
  }

  #takeShare(pooled: PooledDevice, taken: Taken): () => void {
    this.#capacities.take(pooled, taken)
    return () => this.#capacities.giveBack(pooled)
  }

  #takeWhole(wanted: Wanted, { id }: PooledDevice): () => void {
    const taken = this.#taken.get(id) ?? new Set()
    this.#taken.set(id, taken.add(wanted))
    return () => taken.delete(wanted)
  }
}

/**
 * An allocation for each claim, or undefined if the node has no devices for all of them together. Throws, in upstream's
 * words, if that cannot be told: a selector fails, or a pool is being published.
 */
export const allocate = (
  claims: readonly ResourceClaim[],
  node: Node,
  supply: DeviceSupply,
): Allocation[] | undefined => new Search(claims, node, supply).run()
