/**
 * Hints of EndpointSlices by `topology-mode: Auto`: each zone gets endpoints in proportion to its processors, its own
 * ones first, and none gets much less than its part (kubernetes, endpointslice/topologycache).
 */
import { parseMilli } from '#client/amount.js'
import { isNodeReady, type Node } from '#client/pod.js'
import type { Endpoint } from './endpoint.js'

/** The part of the processors that each zone has, in the order of their names. */
export type Ratios = ReadonlyMap<string, number>
type Counts = Map<string, number>

/** By how much of its part a zone may be short of endpoints. */
const overload = 0.2
const zoneLabel = 'topology.kubernetes.io/zone'
const controlPlaneLabels = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
]

const isReady = ({ conditions }: Endpoint): boolean => conditions.ready

export const zoneOf = (node: Node): string => node.metadata.labels?.[zoneLabel] ?? ''

const add = (counts: Counts, zone: string, by: number): void => {
  counts.set(zone, (counts.get(zone) ?? 0) + by)
}

/** Undefined where one node does not tell its zone or processors, or all are in one zone. */
export const zoneRatios = (nodes: readonly Node[]): Ratios | undefined => {
  const processors: Counts = new Map()
  let total = 0
  for (const node of nodes) {
    if (controlPlaneLabels.some((label) => node.metadata.labels?.[label] !== undefined)) continue
    if (!isNodeReady(node)) continue
    const zone = zoneOf(node)
    const milli = Number(parseMilli(node.status.allocatable?.cpu ?? '0'))
    if (zone === '' || milli === 0) return undefined
    add(processors, zone, milli)
    total += milli
  }
  if (processors.size < 2) return undefined
  return new Map([...processors].sort().map(([zone, milli]) => [zone, milli / total]))
}

interface Allocation {
  readonly minimum: number
  readonly maximum: number
  readonly desired: number
}
type Allocations = ReadonlyMap<string, Allocation>

const leastOf = (desired: number): number => Math.ceil(desired * (1 / (1 + overload)))

/** A text says why there is none. */
const allocationsOf = (ratios: Ratios | undefined, endpoints: number): Allocations | string => {
  if (ratios === undefined)
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'
  const counted = `(${endpoints} endpoints, ${ratios.size} zones)`
  if (ratios.size > endpoints) return `Insufficient number of endpoints ${counted}`
  const desired = [...ratios].map(([zone, ratio]) => ({ zone, desired: ratio * endpoints }))
  const spare = desired.reduce((left, zone) => left - leastOf(zone.desired), endpoints)
  if (spare < 0)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${counted}`
  return new Map(
    desired.map(({ zone, desired }) => {
      const minimum = leastOf(desired)
      return [zone, { minimum, maximum: minimum + spare, desired: Math.max(desired, minimum) }]
    }),
  )
}

/** A slice that may be written into, and what is hinted in it. */
interface Draft<S> {
  readonly slice: S
  readonly endpoints: Endpoint[]
}

interface HintedSlice {
  endpoints: Endpoint[] | null
}

const draftOf = <S extends HintedSlice>(slice: S): Draft<S> => ({
  slice,
  endpoints: (slice.endpoints ?? []).map((endpoint) => ({ ...endpoint })),
})
const written = <S extends HintedSlice>({ slice, endpoints }: Draft<S>): S => ({
  ...slice,
  endpoints,
})

/** Hints that a slice has and may keep, by zone; undefined: it has to change. */
const keptHints = (
  { endpoints }: HintedSlice,
  allocated: Counts,
  allocations: Allocations,
): Counts | undefined => {
  const byZone: Counts = new Map()
  for (const { hints } of (endpoints ?? []).filter(isReady)) {
    const zones = hints?.forZones ?? []
    if (zones.length === 0 || zones.some(({ name }) => !allocations.has(name))) return undefined
    for (const { name } of zones) add(byZone, name, 1)
  }
  const isTooMuch = [...byZone].some(
    ([zone, count]) => count + (allocated.get(zone) ?? 0) > allocations.get(zone)!.maximum,
  )
  return isTooMuch ? undefined : byZone
}

/** The first of those with the most; zero where there is nothing. */
const most = (zones: ReadonlyMap<string, number>): [zone: string, count: number] =>
  [...zones].reduce((best, zone) => (zone[1] > best[1] ? zone : best), ['', 0])

/** How many endpoints each zone gives away, and how many each gets. */
const movesBetween = (allocations: Allocations, allocated: Counts) => {
  const [over, under, giving, receiving]: Counts[] = [new Map(), new Map(), new Map(), new Map()]
  for (const [zone, { desired }] of allocations) {
    const surplus = (allocated.get(zone) ?? 0) - desired
    if (surplus > 0) over!.set(zone, surplus)
    else if (surplus < 0) under!.set(zone, -surplus)
  }
  for (;;) {
    const [giver, toGive] = most(over!)
    const [receiver, toReceive] = most(under!)
    if ((toGive < 1 && toReceive < 1) || toGive < 0.5 || toReceive < 0.5)
      return { giving: giving!, receiving: receiving! }
    add(giving!, giver, 1)
    add(over!, giver, -1)
    add(receiving!, receiver, 1)
    add(under!, receiver, -1)
  }
}

const redistribute = (
  drafts: readonly Draft<unknown>[],
  { giving, receiving }: ReturnType<typeof movesBetween>,
  allocated: Counts,
): void => {
  for (const endpoint of drafts.flatMap(({ endpoints }) => endpoints).filter(isReady)) {
    const giver = endpoint.zone!
    if ((giving.get(giver) ?? 0) === 0) continue
    const [receiver] = [...receiving].find(([, count]) => count > 0) ?? []
    if (receiver === undefined) return
    endpoint.hints = { forZones: [{ name: receiver }] }
    for (const [counts, zone] of [
      [giving, giver],
      [receiving, receiver],
      [allocated, giver],
    ] as const)
      add(counts, zone, -1)
    add(allocated, receiver, 1)
  }
}

/** Slices of one address type: made, changed for other reasons, and as they are. */
interface SliceSet<New extends HintedSlice, Old extends HintedSlice> {
  readonly create: readonly New[]
  readonly update: readonly Old[]
  readonly unchanged: readonly Old[]
}
interface Hinted<New, Old> {
  readonly create: New[]
  readonly update: Old[]
  /** How many endpoints are hinted for each zone, or why none is. */
  readonly allocated: ReadonlyMap<string, number> | string
}

const stripped = <S extends HintedSlice>(slice: S): S => ({
  ...slice,
  endpoints: (slice.endpoints ?? []).map(({ hints: _hints, ...endpoint }) => endpoint),
})

const withoutHints = <New extends HintedSlice, Old extends HintedSlice>(
  { create, update, unchanged }: SliceSet<New, Old>,
  problem: string,
): Hinted<New, Old> => ({
  create: create.map(stripped),
  update: [
    ...update,
    ...unchanged.filter(({ endpoints }) => endpoints?.some(({ hints }) => hints !== undefined)),
  ].map(stripped),
  allocated: problem,
})

/** What has to change of slices that are right but for their hints is updated as well. */
export const withTopologyHints = <New extends HintedSlice, Old extends HintedSlice>(
  slices: SliceSet<New, Old>,
  ratios: Ratios | undefined,
): Hinted<New, Old> => {
  const { create, update, unchanged } = slices
  const ready = [...create, ...update, ...unchanged]
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(isReady)
  const allocations = allocationsOf(ratios, ready.length)
  if (typeof allocations === 'string') return withoutHints(slices, allocations)
  const allocated: Counts = new Map()
  const rehinted = unchanged.filter((slice) => {
    const kept = keptHints(slice, allocated, allocations)
    for (const [zone, count] of kept ?? []) add(allocated, zone, count)
    return kept === undefined
  })
  const made = create.map(draftOf)
  const changed = [...update, ...rehinted].map(draftOf)
  const drafts = [...made, ...changed]
  for (const endpoint of drafts.flatMap(({ endpoints }) => endpoints).filter(isReady)) {
    if (!endpoint.zone)
      return withoutHints(slices, 'One or more endpoints do not have a zone specified')
    add(allocated, endpoint.zone, 1)
    endpoint.hints = { forZones: [{ name: endpoint.zone }] }
  }
  redistribute(drafts, movesBetween(allocations, allocated), allocated)
  return { create: made.map(written), update: changed.map(written), allocated }
}

/** Whether a zone has too few of the endpoints for the processors that it has now. */
export const isOverloaded = (
  allocated: ReadonlyMap<string, number>,
  ratios: Ratios | undefined,
): boolean => {
  if (allocated.size === 0) return false
  if (ratios === undefined) return true
  const total = [...allocated.values()].reduce((sum, count) => sum + count, 0)
  return [...ratios].some(([zone, ratio]) => {
    const has = allocated.get(zone)
    return has === undefined || has < leastOf(total * ratio)
  })
}
