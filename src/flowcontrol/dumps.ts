/**
 * Tables of priority levels, their queues and their requests, for debugging an overload (apiserver,
 * apf_controller_debug.go).
 */

import { formatGroupVersion } from '#api/group-version.js'
import { printedDuration } from '#go/duration.js'
import { zeroTime } from '#go/zero-time.js'
import type { FlowControl } from './flow-control.js'
import type { FlowRequest } from './flow-request.js'
import type { PriorityLevel } from './priority-level.js'

type Row = readonly (string | number | boolean)[]

const cellMin = 8

/** Go's text/tabwriter with upstream's settings: each cell but the last of a row is as wide as the widest of its column. */
const table = (rows: readonly Row[]): string => {
  const cells = rows.map((row) => row.map((cell, i) => `${cell}${i < row.length - 1 ? ',' : ''}`))
  const widths = cells[0]!.map((_, i) =>
    cells.reduce((widest, row) => Math.max(widest, [...row[i]!].length + 1), cellMin),
  )
  return cells
    .map((row) =>
      row.map((cell, i) => (i < row.length - 1 ? padded(cell, widths[i]!) : cell)).join(''),
    )
    .map((line) => `${line}\n`)
    .join('')
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(width - [...cell].length)

const seatSeconds = (value: number): string => `${value.toFixed(8)}ss`

/** RFC 3339 as Go's RFC3339Nano writes it. */
const formatMoment = (steadyMs: number): string => {
  const epochMs = performance.timeOrigin + steadyMs
  const seconds = new Date(epochMs).toISOString().slice(0, 19)
  const fraction = ((epochMs % 1000) / 1000)
    .toFixed(6)
    .slice(1)
    .replace(/\.?0+$/, '')
  return `${seconds}${fraction}Z`
}

const levelRow = ({ name, isQuiescing, queues }: PriorityLevel): Row => [
  name,
  queues.queuesWaiting,
  queues.isIdle,
  isQuiescing,
  queues.waiting,
  queues.executing,
  queues.dispatched,
  queues.refused,
  // Upstream counts those among the cancelled.
  0,
  queues.cancelled,
]

const queueRow = (level: PriorityLevel, index: number): Row => {
  const queue = level.queues.knownQueue(index)
  const waiting = [...(queue?.waiting ?? [])]
  return [
    level.name,
    index,
    waiting.length,
    queue?.executing ?? 0,
    queue?.seatsInUse ?? 0,
    seatSeconds(queue?.nextDispatchR ?? 0),
    waiting.reduce((sum, { work }) => sum + work.initialSeats, 0),
    queue?.seatsWaiting ?? 0,
    seatSeconds(queue?.workWaiting ?? 0),
  ]
}

const requestRow = (
  { name }: PriorityLevel,
  request: FlowRequest,
  place: number,
  withDetails: boolean,
): Row => {
  const { info, user } = request.about
  const { initialSeats, finalSeats, lingerMs } = request.work
  const row = [
    name,
    request.figures.schema,
    request.queue?.index ?? -1,
    place,
    request.distinguisher,
    formatMoment(request.arrivedAt),
    initialSeats,
    finalSeats,
    printedDuration(lingerMs),
    request.state === 'waiting' ? zeroTime : formatMoment(request.startedAt),
  ]
  if (!withDetails) return row
  const { apiGroup: group, apiVersion: version } = info
  const { verb, path, namespace, name: asked, resource, subresource } = info
  const groupVersion = formatGroupVersion({ group, version })
  return [...row, user.name, verb, path, namespace, asked, groupVersion, resource, subresource]
}

const levelColumns =
  'PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests'
const queueColumns =
  'PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum'
const requestColumns =
  'PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency StartTime'
const detailColumns = 'UserName Verb APIPath Namespace Name APIVersion Resource SubResource'

export class FlowDumps {
  readonly #control: FlowControl

  constructor(control: FlowControl) {
    this.#control = control
  }

  levels(): string {
    return table([levelColumns.split(' '), ...this.#control.levels.map(levelRow)])
  }

  queues(): string {
    const rows = this.#control.levels.flatMap((level) =>
      Array.from({ length: level.spec.queuing?.queues ?? 0 }, (_, i) => queueRow(level, i)),
    )
    return table([queueColumns.split(' '), ...rows])
  }

  requests(withDetails: boolean): string {
    const columns = withDetails ? `${requestColumns} ${detailColumns}` : requestColumns
    const rows = this.#control.levels.flatMap((level) => [
      ...[...level.queues.waitingRequests()].map(({ request, place }) =>
        requestRow(level, request, place, withDetails),
      ),
      ...[...level.queues.executingRequests].map((request) =>
        requestRow(level, request, -1, withDetails),
      ),
    ])
    return table([columns.split(' '), ...rows])
  }
}
