/**
 * Pools of devices, as their drivers publish them in ResourceSlices, and what of them one node reaches (structured/internal,
 * pools).
 */
import { parseMilli } from '#client/amount.js'
import { matchesNodeSelector } from '#client/node-affinity.js'
import type { Node } from '#client/pod.js'
import type { Device, Reach, ResourceSlice } from '#client/resource-slice.js'
import { addToList } from '#collections/add-to-list.js'
import { compareTexts } from '#go/compare-texts.js'

/** Amounts in thousandths, by set and counter. */
type Counters = readonly (readonly [key: string, amount: bigint])[]

export interface PooledDevice {
  readonly id: string
  readonly device: Device
  readonly pool: Pool
  readonly reach: Reach
  /** What it takes of the counters of its pool. */
  readonly takes: Counters
}
/** One generation of a pool, on whatever nodes. */
export interface Pool {
  readonly driver: string
  readonly name: string
  readonly isNewest: boolean
  /** How many slices it is to have. */
  readonly size: number
  readonly slices: readonly PooledSlice[]
  /** What its devices share; undefined where what it says of them contradicts itself. */
  readonly counters: ReadonlyMap<string, bigint> | undefined
}
interface PooledSlice {
  readonly spec: ResourceSlice['spec']
  readonly devices: readonly PooledDevice[]
}

export const deviceId = (driver: string, pool: string, device: string): string =>
  `${driver}/${pool}/${device}`

type CounterSet = NonNullable<ResourceSlice['spec']['sharedCounters']>[number]

const countersIn = (set: string, counters: CounterSet['counters']): Counters =>
  Object.entries(counters).map(([name, { value }]) => [`${set}/${name}`, parseMilli(value)])

const hasTwice = (names: readonly string[]): boolean => new Set(names).size < names.length

const sharedCounters = (
  sets: readonly CounterSet[],
  devices: readonly PooledDevice[],
): ReadonlyMap<string, bigint> | undefined => {
  const counters = new Map(sets.flatMap(({ name, counters }) => countersIn(name, counters)))
  const isKnown = ({ takes }: PooledDevice): boolean => takes.every(([key]) => counters.has(key))
  return hasTwice(sets.map(({ name }) => name)) || !devices.every(isKnown) ? undefined : counters
}

const poolOf = (published: readonly ResourceSlice[], isNewest: boolean): Pool => {
  const { driver, pool: about } = published[0]!.spec
  const slices: PooledSlice[] = []
  const pool = {
    driver,
    name: about.name,
    isNewest,
    size: about.resourceSliceCount,
    slices,
    counters: undefined as Pool['counters'],
  }
  for (const { spec } of published) {
    const devices = (spec.devices ?? []).map((device) => ({
      id: deviceId(driver, about.name, device.name),
      device,
      pool,
      reach: spec.perDeviceNodeSelection ? device : spec,
      takes: (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
        countersIn(counterSet, counters),
      ),
    }))
    slices.push({ spec, devices })
  }
  pool.counters = sharedCounters(
    published.flatMap(({ spec }) => spec.sharedCounters ?? []),
    slices.flatMap(({ devices }) => devices),
  )
  return pool
}

const nameOf = ({ metadata }: ResourceSlice): string => metadata.name

/** By driver and name, the newest first, and their slices by name: so drivers say by names what is taken first. */
export const poolsOf = (slices: readonly ResourceSlice[]): Pool[] => {
  const pools = new Map<string, Map<number, ResourceSlice[]>>()
  for (const slice of slices) {
    const { driver, pool } = slice.spec
    const id = `${driver}/${pool.name}`
    const generations = pools.get(id) ?? new Map<number, ResourceSlice[]>()
    pools.set(id, generations)
    addToList(generations, pool.generation, slice)
  }
  return [...pools.values()]
    .flatMap((generations) =>
      [...generations]
        .sort(([a], [b]) => b - a)
        .map(([, published], at) =>
          poolOf(
            published.sort((a, b) => compareTexts(nameOf(a), nameOf(b))),
            at === 0,
          ),
        ),
    )
    .sort((a, b) => compareTexts(a.driver, b.driver) || compareTexts(a.name, b.name))
}

export const reaches = ({ nodeName, allNodes, nodeSelector }: Reach, node: Node): boolean => {
  if (nodeName) return nodeName === node.metadata.name
  return (
    allNodes === true || (nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node))
  )
}

/** What a node sees of a pool. */
export interface NearPool {
  readonly pool: Pool
  /** Of slices that the node reaches. One slice may have devices for different nodes. */
  readonly devices: readonly PooledDevice[]
  /** Its driver is about to publish more. */
  readonly isIncomplete: boolean
  /** All was published, and it contradicts itself. */
  readonly isInvalid: boolean
}

const isNear = ({ spec, devices }: PooledSlice, node: Node): boolean =>
  // Counters belong to the whole pool.
  (spec.sharedCounters ?? []).length > 0 ||
  (spec.perDeviceNodeSelection
    ? devices.some(({ reach }) => reaches(reach, node))
    : reaches(spec, node))

const hasToBePrepared = ({ devices, isIncomplete, isInvalid }: NearPool): boolean =>
  !isIncomplete &&
  !isInvalid &&
  devices.some(({ device }) => device.bindingConditions !== undefined)

const nearPool = (pool: Pool, near: readonly PooledSlice[]): NearPool => {
  const devices = near.flatMap((slice) => slice.devices)
  const isIncomplete = near.length !== pool.size && pool.slices.length !== pool.size
  const contradicts = pool.counters === undefined || hasTwice(devices.map(({ id }) => id))
  return { pool, devices, isIncomplete, isInvalid: !isIncomplete && contradicts }
}

/** Those come last whose devices may have to be waited for before a Pod is bound. */
export const poolsNear = (node: Node, pools: readonly Pool[]): NearPool[] => {
  const all: NearPool[] = []
  let last: Pool | undefined
  for (const pool of pools) {
    const near = pool.slices.filter((slice) => isNear(slice, node))
    const isOlder = last !== undefined && last.driver === pool.driver && last.name === pool.name
    if (near.length === 0 || isOlder) continue
    last = pool
    // An older one counts as long as the node sees all of it, and nothing of the newer one.
    if (pool.isNewest || near.length === pool.size) all.push(nearPool(pool, near))
  }
  return [...all.filter((pool) => !hasToBePrepared(pool)), ...all.filter(hasToBePrepared)]
}
