/**
 * Tables of priority levels, their queues and their requests, for debugging an overload (apiserver,
 * apf_controller_debug.go).
 */

import { formatGroupVersion } from '#api/group-version.js'
import { Turn } from '#async/turns.js'
import { printedDuration } from '#go/duration.js'
import { zeroTime } from '#go/zero-time.js'
import type { FlowControl } from './flow-control.js'
import type { FlowRequest } from './flow-request.js'
import type { PriorityLevel } from './priority-level.js'

type Row = readonly (string | number | boolean)[]

const cellMin = 8

const cellsOf = (row: Row): string[] =>
  row.map((cell, i) => `${cell}${i < row.length - 1 ? ',' : ''}`)

/** Go's text/tabwriter with upstream's settings: each cell but the last of a row is as wide as the widest of its column. */
const widthsOf = (rows: Iterable<Row>): number[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, cell] of cellsOf(row).entries())
      widths[i] = Math.max(widths[i] ?? cellMin, [...cell].length + 1)
  return widths
}

const lineOf = (row: Row, widths: readonly number[]): string => {
  const cells = cellsOf(row).map((cell, i) =>
    i < row.length - 1 ? padded(cell, widths[i]!) : cell,
  )
  return `${cells.join('')}\n`
}

const table = (rows: readonly Row[]): string => {
  const widths = widthsOf(rows)
  return rows.map((row) => lineOf(row, widths)).join('')
}

/** What is told in turns may have grown since the widths were taken. */
const padded = (cell: string, width: number): string =>
  cell + ' '.repeat(Math.max(1, width - [...cell].length))

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

const rowsAtOnce = 100

const queuesOf = ({ spec }: PriorityLevel): number => spec.queuing?.queues ?? 0

/** The last one has the longest number, and those that no request has come to have nothing else that is long. */
const widestRows = function* (columns: Row, levels: readonly PriorityLevel[]): Generator<Row> {
  yield columns
  for (const level of levels) {
    const count = queuesOf(level)
    if (count > 0) yield queueRow(level, count - 1)
    for (const { index } of level.queues.knownQueues)
      if (index < count) yield queueRow(level, index)
  }
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

  /** In pieces: a level may have ten million of them. */
  async *queues(): AsyncGenerator<string, void> {
    const { levels } = this.#control
    const columns = queueColumns.split(' ')
    const widths = widthsOf(widestRows(columns, levels))
    const turn = new Turn()
    yield lineOf(columns, widths)
    for (const level of levels) {
      const count = queuesOf(level)
      for (let first = 0; first < count; first += rowsAtOnce) {
        if (turn.isOver) await turn.next()
        const length = Math.min(rowsAtOnce, count - first)
        const lines = Array.from({ length }, (_, i) => lineOf(queueRow(level, first + i), widths))
        yield lines.join('')
      }
    }
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
