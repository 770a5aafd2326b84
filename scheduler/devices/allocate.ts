/**
 * Chooses devices on one node for the claims of a Pod: every choice in turn until one satisfies all requests and
 * constraints (dynamic-resource-allocation, structured/internal/stable). Pure. Devices that several claims share, and
 * those with conditions to wait for before a Pod is bound, are left alone.
 */
import type { Node } from '#client/pod.js'
import type { Allocation, DeviceTaint, ResourceClaim } from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'
import { limits } from '#limits'
import { allocationOf, type Chosen } from './allocation.js'
import { type Constraint, makeConstraint } from './constraints.js'
import { CounterUse } from './counters.js'
import { type Pool, type PooledDevice, poolsFor } from './pools.js'
import { type Alternative, alternativesOf, type DeviceClass } from './requests.js'
import { selectorsMatch } from './selectors.js'

export interface DeviceSupply {
  /** Of the newest generation, pool by pool. */
  slices: readonly ResourceSlice[][]
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

const isTolerated = ({ asked }: Alternative, { key, value = '', effect }: DeviceTaint): boolean =>
  (asked.tolerations ?? []).some(
    (t) =>
      (!t.effect || t.effect === effect) &&
      (!t.key || t.key === key) &&
      (t.operator === 'Exists' || (t.value ?? '') === value),
  )

const keepsOff = (way: Alternative, taint: DeviceTaint): boolean =>
  ['NoSchedule', 'NoExecute'].includes(taint.effect) && !isTolerated(way, taint)

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
  readonly #pools: readonly Pool[]
  readonly #inUse: ReadonlySet<string>
  /** How many claims of the Pod have a device by now: with admin access several may. */
  readonly #taken = new Map<string, Set<Wanted>>()
  readonly #counters: CounterUse
  readonly #matches = new Map<Alternative, readonly PooledDevice[]>()
  #choices = 0

  constructor(claims: readonly ResourceClaim[], node: Node, supply: DeviceSupply) {
    this.#pools = poolsFor(node, supply.slices)
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
    for (const wanted of this.#wanted) this.#checkThatAllIsKnown(wanted)
    if (this.#request(0, 0))
      return this.#wanted.map(({ claim, chosen, ways }) => allocationOf(claim, chosen, ways))
    if (this.#pools.some(({ isInvalid }) => isInvalid))
      throw new Error('invalid resource pools were encountered')
    return undefined
  }

  /** How many "all" are is not known while a pool is being published. */
  #checkThatAllIsKnown({ claim, requests }: Wanted): void {
    for (const way of requests.flat()) {
      if (way.asked.allocationMode !== 'All') continue
      const unclear = this.#pools.find(({ isIncomplete, isInvalid }) => isIncomplete || isInvalid)
      if (unclear === undefined) continue
      const state = unclear.isIncomplete ? 'being updated' : 'invalid'
      throw new Error(
        `claim ${labelOf(claim)}, request ${way.name}: asks for all devices, but resource pool ${unclear.driver}/${unclear.name} is currently ${state}`,
      )
    }
  }

  #request(claimIndex: number, requestIndex: number): boolean {
    const wanted = this.#wanted[claimIndex]
    if (wanted === undefined) return true
    const ways = wanted.requests[requestIndex]
    if (ways === undefined) return this.#request(claimIndex + 1, 0)
    return ways.some((way) => {
      wanted.ways[requestIndex] = way
      const devices = this.#selected(wanted, way)
      const isAll = way.asked.allocationMode === 'All'
      const count = isAll ? devices.length : (way.asked.count ?? 1)
      if (isAll && count === 0) return false
      if (wanted.chosen.length + count > limits.claimDevicesMax) return false
      const then = (): boolean => this.#request(claimIndex, requestIndex + 1)
      return this.#choose(wanted, way, { devices, count, isAll }, 0, then)
    })
  }

  /** Devices whose order does not matter are tried in one order only, so that each begins behind the one before. */
  #choose(
    wanted: Wanted,
    way: Alternative,
    among: { devices: readonly PooledDevice[]; count: number; isAll: boolean },
    from: number,
    then: () => boolean,
  ): boolean {
    const { devices, count, isAll } = among
    if (count === 0) return then()
    const last = isAll ? from : devices.length - count
    for (let at = from; at <= last; at++) {
      if (++this.#choices > limits.deviceChoicesMax)
        throw new Error('gave up trying to allocate devices')
      const device = devices[at]!
      if (!this.#take(wanted, way, device)) continue
      if (this.#choose(wanted, way, { devices, count: count - 1, isAll }, at + 1, then)) return true
      this.#giveBack(wanted, way, device)
    }
    return false
  }

  /** What class and request select, of the pools that are complete. */
  #selected({ claim }: Wanted, way: Alternative): readonly PooledDevice[] {
    const known = this.#matches.get(way)
    if (known !== undefined) return known
    const { deviceClass, asked } = way
    const found = this.#pools
      .filter(({ isIncomplete, isInvalid }) => !isIncomplete && !isInvalid)
      .flatMap(({ devices }) => devices)
      .filter(
        (pooled) =>
          pooled.device.allowMultipleAllocations !== true &&
          (pooled.device.bindingConditions ?? []).length === 0 &&
          selectorsMatch(
            `class ${deviceClass.metadata.name}`,
            deviceClass.spec.selectors,
            pooled,
          ) &&
          selectorsMatch(`claim ${labelOf(claim)}`, asked.selectors, pooled),
      )
    this.#matches.set(way, found)
    return found
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
    if ((device.taints ?? []).some((taint) => keepsOff(way, taint))) return false
    if (!this.#counters.take(pooled)) return false
    if (!addToAll(wanted.constraints, way.names, pooled)) {
      this.#counters.giveBack(pooled)
      return false
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
