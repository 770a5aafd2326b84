/**
 * Estimates the seats of a request: of a list by its likely bytes, of a write by the watches that it concerns, one for
 * everything else (apiserver, util/flowcontrol/request).
 */
import { ApiError } from '#api/errors.js'
import type { RequestInfo } from '#api/request-info.js'
import type { StoredSize } from '#cacher/cacher.js'
import { getOwn } from '#json/object.js'
import { limits } from '#limits'
import { Query } from '#registry/query.js'
import type { FlowFigures } from './flow-figures.js'
import type { WorkEstimate } from './flow-request.js'
import type { WatchCounts } from './watch-counts.js'

export interface WorkDeps {
  /** Undefined for what is not stored here. */
  readonly sizeOf: (info: RequestInfo) => StoredSize | undefined
  readonly watches: WatchCounts
}

interface Asked {
  readonly kube: { readonly info: RequestInfo }
  /** The request target as it came. */
  readonly url: string
}

/** Where it has come to. */
interface Flow {
  readonly level: { readonly widestSeats: number | undefined }
  readonly figures: FlowFigures
}

type Estimate = (asked: Asked, flow: Flow, deps: WorkDeps) => WorkEstimate

const bytesPerSeat = 100_000
/** A list from the cache is streamed: it never holds more than this at once. */
const streamedBytes = 1_000_000
const watchesPerSeat = 10
/** How long a write keeps its watchers busy. */
const eventMs = 5

const ofSeats = (initialSeats: number): WorkEstimate => ({
  initialSeats,
  finalSeats: 0,
  lingerMs: 0,
})
const oneSeat = ofSeats(1)

interface ListQuery {
  readonly limit: number
  readonly isFromCache: boolean
  readonly isSelective: boolean
  readonly beginsWithState: boolean
}

/** Which lists upstream reads from etcd (storage/cacher/delegator). */
const isFromCache = (query: Query, limit: number): boolean => {
  const match = query.text('resourceVersionMatch')
  if (match === 'NotOlderThan') return true
  if (match !== '') return false
  const version = query.text('resourceVersion')
  const isExact = limit > 0 && version !== '' && version !== '0'
  return query.text('continue') === '' && !isExact
}

/** Undefined for a query that will be refused. */
const readQuery = (url: string): ListQuery | undefined => {
  const query = new Query(url)
  const version = query.text('resourceVersion')
  try {
    query.int64IfGiven('timeoutSeconds')
    const limit = query.integerIfGiven('limit') ?? 0
    return {
      limit,
      isFromCache: isFromCache(query, limit),
      isSelective: query.text('fieldSelector') !== '' || query.text('labelSelector') !== '',
      beginsWithState: query.flag('sendInitialEvents') || version === '' || version === '0',
    }
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

const bytesAtOnce = (
  { objects, bytes }: StoredSize,
  { limit, isFromCache, isSelective }: ListQuery,
  { verb, name }: RequestInfo,
): number => {
  const isCached = verb === 'watch' || isFromCache
  const shown = limit > 0 ? Math.min(limit, objects) : objects
  const looked = isSelective && !isCached ? Math.max(shown, Math.trunc(objects / 2)) : shown
  const average = objects === 0 ? 0 : Math.trunc(bytes / objects)
  const all = (name === '' ? looked : 1) * average
  return isCached ? Math.min(all, streamedBytes) : all
}

const ofList: Estimate = ({ kube: { info }, url }, { level }, { sizeOf }) => {
  const most = Math.min(level.widestSeats ?? limits.listSeatsMax, limits.listSeatsMax)
  const query = readQuery(url)
  if (query === undefined) return ofSeats(most)
  if (info.verb === 'watch' && !query.beginsWithState) return oneSeat
  const size = sizeOf(info)
  if (size === undefined) return oneSeat
  const seats = Math.min(most, Math.ceil(bytesAtOnce(size, query, info) / bytesPerSeat))
  return seats <= 1 ? oneSeat : ofSeats(seats)
}

/**
 * Notifying watches comes after the answer. If it needs more seats than one request may have, it takes fewer for longer.
 */
const ofWrite: Estimate = ({ kube: { info } }, { level, figures }, { watches }) => {
  // Tokens are not stored.
  if (info.resource === 'serviceaccounts' && info.subresource === 'token') return oneSeat
  const count = watches.of(info)
  figures.watchers.observe(count)
  if (count < watchesPerSeat) return oneSeat
  const wanted = Math.ceil(count / watchesPerSeat)
  const most = Math.min(level.widestSeats ?? limits.writeSeatsMax, limits.writeSeatsMax)
  const finalSeats = Math.min(wanted, most)
  return { initialSeats: 1, finalSeats, lingerMs: (wanted * eventMs) / finalSeats }
}

const estimates: Readonly<Record<string, Estimate>> = {
  list: ofList,
  watch: ofList,
  create: ofWrite,
  update: ofWrite,
  patch: ofWrite,
  delete: ofWrite,
}

export const estimateWork: Estimate = (asked, flow, deps) =>
  getOwn(estimates, asked.kube.info.verb)?.(asked, flow, deps) ?? oneSeat
