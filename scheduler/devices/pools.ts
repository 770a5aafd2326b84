/** Pools of devices, as their drivers publish them in ResourceSlices, seen from one node (structured/internal, pools). */
import { parseMilli } from '#client/amount.js'
import { matchesNodeSelector } from '#client/node-affinity.js'
import type { Node } from '#client/pod.js'
import type { Device, Reach, ResourceSlice } from '#client/resource-slice.js'

/** A device of a slice that the node reaches. */
export interface PooledDevice {
  readonly id: string
  readonly device: Device
  readonly reach: Reach
  /** Devices of one slice may be for different nodes. */
  readonly isReached: boolean
  readonly pool: Pool
}
export interface Pool {
  readonly driver: string
  readonly name: string
  /** Its driver is about to publish more; or has published all, and it contradicts itself. */
  readonly isIncomplete: boolean
  readonly isInvalid: boolean
  readonly devices: readonly PooledDevice[]
  /** What devices of the pool share, in thousandths, by set and counter. */
  readonly counters: ReadonlyMap<string, bigint>
  /** Every device of the pool, on whatever node: those in use have taken their counters. */
  readonly all: readonly { id: string; device: Device }[]
}

export const deviceId = (driver: string, pool: string, device: string): string =>
  `${driver}/${pool}/${device}`

const counterKey = (set: string, counter: string): string => `${set}/${counter}`

/** What a device takes of the counters of its pool. */
export const countersOf = ({ consumesCounters = [] }: Device): [string, bigint][] =>
  consumesCounters.flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([name, { value }]): [string, bigint] => [
      counterKey(counterSet, name),
      parseMilli(value),
    ]),
  )

const reaches = ({ nodeName, allNodes, nodeSelector }: Reach, node: Node): boolean => {
  if (nodeName) return nodeName === node.metadata.name
  return (
    allNodes === true || (nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node))
  )
}

const isForNode = ({ spec }: ResourceSlice, node: Node): boolean =>
  // Counters belong to the whole pool.
  (spec.sharedCounters ?? []).length > 0 ||
  reaches(spec, node) ||
  (spec.perDeviceNodeSelection === true &&
    (spec.devices ?? []).some((device) => reaches(device, node)))

const hasTwice = (names: readonly string[]): boolean => new Set(names).size < names.length

/** The slices of the newest generation of each pool. */
export const newestSlices = (slices: readonly ResourceSlice[]): ResourceSlice[][] => {
  const pools = new Map<string, ResourceSlice[]>()
  for (const slice of slices) {
    const { driver, pool } = slice.spec
    const id = `${driver}/${pool.name}`
    const known = pools.get(id)
    const newest = known?.[0]?.spec.pool.generation ?? -1
    if (known === undefined || pool.generation > newest) pools.set(id, [slice])
    else if (pool.generation === newest) known.push(slice)
  }
  return [...pools.values()]
}

const poolFor = (node: Node, slices: readonly ResourceSlice[]): Pool | undefined => {
  const near = slices.filter((slice) => isForNode(slice, node))
  if (near.length === 0) return undefined
  const { driver, pool: about } = near[0]!.spec
  const idOf = ({ name }: Device): string => deviceId(driver, about.name, name)
  const sets = near.flatMap(({ spec }) => spec.sharedCounters ?? [])
  const counters = new Map(
    sets.flatMap(({ name, counters }) =>
      Object.entries(counters).map(([counter, { value }]): [string, bigint] => [
        counterKey(name, counter),
        parseMilli(value),
      ]),
    ),
  )
  const all = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device) => ({ id: idOf(device), device })),
  )
  const isIncomplete = slices.length !== about.resourceSliceCount
  const devices: PooledDevice[] = []
  const pool: Pool = {
    driver,
    name: about.name,
    isIncomplete,
    isInvalid:
      !isIncomplete &&
      (hasTwice(sets.map(({ name }) => name)) ||
        hasTwice(near.flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name))) ||
        all.some(({ device }) => countersOf(device).some(([key]) => !counters.has(key)))),
    devices,
    counters,
    all,
  }
  for (const { spec } of near)
    for (const device of spec.devices ?? []) {
      const reach = spec.perDeviceNodeSelection ? device : spec
      devices.push({ id: idOf(device), device, reach, isReached: reaches(reach, node), pool })
    }
  return pool
}

/** `newest` is what `newestSlices` made of all slices. */
export const poolsFor = (node: Node, newest: readonly ResourceSlice[][]): Pool[] =>
  newest.flatMap((slices) => poolFor(node, slices) ?? [])
