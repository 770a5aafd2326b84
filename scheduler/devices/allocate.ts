/**
 * Chooses devices on one node for the claims of a Pod: every choice in turn until one satisfies all requests and
 * constraints (dynamic-resource-allocation, structured/internal/stable). Pure. Devices that several claims share, and
 * those with conditions to wait for before a Pod is bound, are left alone.
 */
import type { Node } from '#client/pod.js'
import type { Allocation, DeviceTaint, ResourceClaim } from '#client/resource-claim.js'
import { limits } from '#limits'
import { allocationOf, type Chosen } from './allocation.js'
import { type Constraint, makeConstraint } from './constraints.js'
import { CounterUse } from './counters.js'
import { type NearPool, type Pool, type PooledDevice, poolsNear, reaches } from './pools.js'
import { type Alternative, alternativesOf, type DeviceClass } from './requests.js'
import { selectorsMatch } from './selectors.js'

export interface DeviceSupply {
  pools: readonly Pool[]
  classOf(name: string): DeviceClass | undefined
  /** Devices of other claims, by their ids. */
  inUse: ReadonlySet<string>
}

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
  readonly #inUse: ReadonlySet<string>
  /** How many claims of the Pod have a device by now: with admin access several may. */
  readonly #taken = new Map<string, Set<Wanted>>()
  readonly #counters: CounterUse
  /** Of the pools that are complete. */
  readonly #devices: readonly PooledDevice[]
  readonly #selected = new Map<Alternative, Map<PooledDevice, boolean>>()
  /** What the alternatives get that want all devices. */
  readonly #all = new Map<Alternative, readonly PooledDevice[]>()
  #choices = 0

  constructor(claims: readonly ResourceClaim[], node: Node, supply: DeviceSupply) {
    this.#node = node
    this.#pools = poolsNear(node, supply.pools)
    this.#devices = this.#pools.flatMap(({ pool, isInvalid, devices }) =>
      pool.isIncomplete || isInvalid ? [] : devices,
    )
    this.#inUse = supply.inUse
    this.#counters = new CounterUse(supply.inUse)
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
    if (this.#request(0, 0))
      return this.#wanted.map(({ claim, chosen, ways }) => allocationOf(claim, chosen, ways))
    if (this.#pools.some(({ isInvalid }) => isInvalid))
      throw new Error('invalid resource pools were encountered')
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
    return this.#pools.flatMap(({ pool, isInvalid, devices }) => {
      const { driver, name, isIncomplete } = pool
      if (!isIncomplete && !isInvalid)
        return devices.filter((pooled) => this.#isSelected(claim, way, pooled))
      const state = isIncomplete ? 'being updated' : 'invalid'
      throw new Error(
        `claim ${labelOf(claim)}, request ${way.ownName}: asks for all devices, but resource pool ${driver}/${name} is currently ${state}`,
      )
    })
  }

  #request(claimIndex: number, requestIndex: number): boolean {
    const wanted = this.#wanted[claimIndex]
    if (wanted === undefined) return true
    const ways = wanted.requests[requestIndex]
    if (ways === undefined) return this.#request(claimIndex + 1, 0)
    return ways.some((way) => {
      wanted.ways[requestIndex] = way
      const all = this.#all.get(way)
      const count = all?.length ?? countOf(way)
      if (all?.length === 0) return false
      if (wanted.chosen.length + count > limits.claimDevicesMax) return false
      const then = (): boolean => this.#request(claimIndex, requestIndex + 1)
      return this.#choose(wanted, way, { devices: all ?? this.#devices, count }, 0, then)
    })
  }

  /** Devices whose order does not matter are tried in one order only, so that each begins behind the one before. */
  #choose(
    wanted: Wanted,
    way: Alternative,
    among: { devices: readonly PooledDevice[]; count: number },
    from: number,
    then: () => boolean,
  ): boolean {
    const { devices, count } = among
    if (count === 0) return then()
    for (let at = from; at < devices.length; at++) {
      if (++this.#choices > limits.deviceChoicesMax)
        throw new Error('gave up trying to allocate devices')
      const device = devices[at]!
      if (this.#take(wanted, way, device)) {
        if (this.#choose(wanted, way, { devices, count: count - 1 }, at + 1, then)) return true
        this.#giveBack(wanted, way, device)
      }
      if (isForAll(way)) return false
    }
    return false
  }

  /** By class and request; asked once for each device, and only when it is looked at. */
  #isSelected(claim: ResourceClaim, way: Alternative, pooled: PooledDevice): boolean {
    const known = this.#selected.get(way) ?? new Map<PooledDevice, boolean>()
    this.#selected.set(way, known)
    let isSelected = known.get(pooled)
    if (isSelected === undefined) {
      const { deviceClass, asked } = way
      const { allowMultipleAllocations, bindingConditions = [] } = pooled.device
      isSelected =
        allowMultipleAllocations !== true &&
        bindingConditions.length === 0 &&
        selectorsMatch(`class ${deviceClass.metadata.name}`, deviceClass.spec.selectors, pooled) &&
        selectorsMatch(`claim ${labelOf(claim)}`, asked.selectors, pooled) &&
        reaches(pooled.reach, this.#node)
      known.set(pooled, isSelected)
    }
    return isSelected
  }

  #isFree(wanted: Wanted, { asked }: Alternative, { id }: PooledDevice): boolean {
    const taken = this.#taken.get(id)
    // Whoever administers a device may do so beside its users, but a claim names it once.
    if (asked.adminAccess) return !taken?.has(wanted)
    return !this.#inUse.has(id) && (taken === undefined || taken.size === 0)
  }

  #take(wanted: Wanted, way: Alternative, pooled: PooledDevice): boolean {
    const { id, device } = pooled
    if (!this.#isFree(wanted, way, pooled)) return false
    if (!this.#isSelected(wanted.claim, way, pooled)) return false
    if ((device.taints ?? []).some((taint) => keepsOff(way, taint))) return false
    if (!this.#counters.take(pooled)) return false
    if (!addToAll(wanted.constraints, way.names, pooled)) {
      this.#counters.giveBack(pooled)
      if (!isForAll(way)) return false
      throw new Error(
        `claim ${labelOf(wanted.claim)}, request ${way.ownName}: cannot add device ${id} because a claim constraint would not be satisfied`,
      )
    }
    const taken = this.#taken.get(id) ?? new Set()
    this.#taken.set(id, taken.add(wanted))
    wanted.chosen.push({ way, pooled })
    return true
  }

  #giveBack(wanted: Wanted, way: Alternative, pooled: PooledDevice): void {
    wanted.chosen.pop()
    this.#taken.get(pooled.id)?.delete(wanted)
    for (const constraint of wanted.constraints) constraint.remove(way.names)
    this.#counters.giveBack(pooled)
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
