/** apiserver_flowcontrol_…: metrics of levels and flows. Names, labels and help texts are upstream's. */
import type { HistogramFigures } from '#metrics/histogram.js'
import type { MetricFamily, MetricLabels, MetricValue } from '#metrics/metric-family.js'
import type { FlowControl } from './flow-control.js'
import type { FlowFigures } from './flow-figures.js'
import type { PriorityLevel } from './priority-level.js'

interface FlowMetric extends Omit<MetricFamily, 'values'> {
  readonly values: (control: FlowControl) => MetricValue[]
}

const prefix = 'apiserver_flowcontrol_'

/** A row of a level that is one number. */
const ofLevel = (
  name: string,
  help: string,
  value: (level: PriorityLevel) => number,
): FlowMetric => ({
  name: prefix + name,
  help,
  type: 'gauge',
  values: ({ levels }) =>
    levels.map((level) => ({ labels: { priority_level: level.name }, value: value(level) })),
})

const flowLabels = ({ level, schema }: FlowFigures): MetricLabels => ({
  priority_level: level,
  flow_schema: schema,
})

/** A row of a flow; it appears once something has been counted. */
const ofFlow = (
  type: FlowMetric['type'],
  name: string,
  help: string,
  values: (flow: FlowFigures) => readonly { labels?: MetricLabels; value: MetricValue['value'] }[],
): FlowMetric => ({
  name: prefix + name,
  help,
  type,
  values: ({ figures }) =>
    [...figures].flatMap((flow) =>
      values(flow).map(({ labels, value }) => ({
        labels: { ...flowLabels(flow), ...labels },
        value,
      })),
    ),
})

const once = <T>(condition: boolean, value: T): { value: T }[] => (condition ? [{ value }] : [])

const seen = (histogram: HistogramFigures, labels: MetricLabels = {}) =>
  histogram.count > 0 ? [{ labels, value: histogram }] : []

const ofUse = (
  name: string,
  help: string,
  values: (use: PriorityLevel['use']) => MetricValue[],
): FlowMetric => ({
  name: prefix + name,
  help: `EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of ${help}`,
  type: 'histogram',
  values: (control) => {
    const now = control.now()
    return control.levels.flatMap(({ name: level, use }) => {
      use.account(now)
      return values(use).map(({ labels, value }) => ({
        labels: { ...labels, priority_level: level },
        value,
      }))
    })
  },
})

const limitMetrics = [
  ofLevel(
    'nominal_limit_seats',
    '[BETA] Nominal number of execution seats configured for each priority level',
    ({ nominalSeats }) => nominalSeats,
  ),
  ofLevel(
    'lower_limit_seats',
    '[ALPHA] Configured lower bound on number of execution seats available to each priority level',
    ({ lowerSeats }) => lowerSeats,
  ),
  ofLevel(
    'upper_limit_seats',
    '[ALPHA] Configured upper bound on number of execution seats available to each priority level',
    ({ upperSeats }) => upperSeats,
  ),
  ofLevel(
    'current_limit_seats',
    '[ALPHA] current derived number of execution seats available to each priority level',
    ({ seats }) => seats,
  ),
  ofLevel('target_seats', '[ALPHA] Seat allocation targets', ({ targetSeats }) => targetSeats),
  ofLevel(
    'demand_seats_high_watermark',
    '[ALPHA] High watermark, over last adjustment period, of demand_seats',
    ({ use }) => use.demand.highWatermark,
  ),
  ofLevel(
    'demand_seats_average',
    '[ALPHA] Time-weighted average, over last adjustment period, of demand_seats',
    ({ use }) => use.demand.average,
  ),
  ofLevel(
    'demand_seats_stdev',
    '[ALPHA] Time-weighted standard deviation, over last adjustment period, of demand_seats',
    ({ use }) => use.demand.deviation,
  ),
  ofLevel(
    'demand_seats_smoothed',
    '[ALPHA] Smoothed seat demands',
    ({ use }) => use.demand.smoothed,
  ),
  ofLevel('current_r', '[ALPHA] R(time of last change)', ({ queues }) => queues.currentR),
]

/** For levels whose requests have waited in queues. */
const ofDispatch = (
  name: string,
  help: string,
  values: (last: PriorityLevel['queues']['lastDispatch']) => [number, MetricLabels?][],
): FlowMetric => ({
  name: prefix + name,
  help: `[ALPHA] ${help}`,
  type: 'gauge',
  values: ({ levels }) =>
    levels
      .filter(({ queues }) => queues.lastDispatch.isKnown)
      .flatMap((level) =>
        values(level.queues.lastDispatch).map(([value, labels]) => ({
          labels: { ...labels, priority_level: level.name },
          value,
        })),
      ),
})

const dispatchMetrics = [
  ofDispatch('dispatch_r', 'R(time of last dispatch)', ({ r }) => [[r]]),
  ofDispatch('latest_s', 'S(most recently dispatched request)', ({ start }) => [[start]]),
  ofDispatch(
    'next_s_bounds',
    'min and max, over queues, of S(oldest waiting request in queue)',
    ({ startMin, startMax }) => [
      [startMin, { bound: 'min' }],
      [startMax, { bound: 'max' }],
    ],
  ),
  ofDispatch(
    'next_discounted_s_bounds',
    'min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress',
    ({ discountedMin, discountedMax }) => [
      [discountedMin, { bound: 'min' }],
      [discountedMax, { bound: 'max' }],
    ],
  ),
]

const hasQueued = ({ queueLengths }: FlowFigures): boolean => queueLengths.count > 0

const flowMetrics = [
  ofFlow(
    'counter',
    'rejected_requests_total',
    '[BETA] Number of requests rejected by API Priority and Fairness subsystem',
    ({ refused }) =>
      Object.entries(refused)
        .filter(([, value]) => value > 0)
        .map(([reason, value]) => ({ labels: { reason }, value })),
  ),
  ofFlow(
    'counter',
    'dispatched_requests_total',
    '[BETA] Number of requests executed by API Priority and Fairness subsystem',
    ({ dispatched }) => once(dispatched > 0, dispatched),
  ),
  ofFlow(
    'gauge',
    'current_inqueue_requests',
    '[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem',
    (flow) => once(hasQueued(flow), flow.waiting),
  ),
  ofFlow(
    'gauge',
    'current_inqueue_seats',
    '[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness subsystem',
    (flow) => once(hasQueued(flow), flow.waitingSeats),
  ),
  ofFlow(
    'histogram',
    'request_queue_length_after_enqueue',
    '[ALPHA] Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued',
    ({ queueLengths }) => seen(queueLengths),
  ),
  ofFlow(
    'gauge',
    'current_executing_requests',
    '[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem',
    ({ dispatched, executing }) => once(dispatched > 0, executing),
  ),
  ofFlow(
    'gauge',
    'current_executing_seats',
    '[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem',
    ({ dispatched, executingSeats }) => once(dispatched > 0, executingSeats),
  ),
  ofFlow(
    'histogram',
    'request_wait_duration_seconds',
    '[BETA] Length of time a request spent waiting in its queue',
    ({ waits }) => Object.entries(waits).flatMap(([execute, of]) => seen(of, { execute })),
  ),
  ofFlow(
    'histogram',
    'request_execution_seconds',
    '[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem',
    ({ executions }) => Object.entries(executions).flatMap(([type, of]) => seen(of, { type })),
  ),
  ofFlow(
    'histogram',
    'watch_count_samples',
    '[ALPHA] count of watchers for mutating requests in API Priority and Fairness',
    ({ watchers }) => seen(watchers),
  ),
  ofFlow(
    'histogram',
    'work_estimated_seats',
    '[ALPHA] Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness',
    ({ seats }) => seen(seats),
  ),
  ofFlow(
    'counter',
    'request_dispatch_no_accommodation_total',
    '[ALPHA] Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats',
    ({ unaccommodated }) => once(unaccommodated > 0, unaccommodated),
  ),
]

const useMetrics = [
  ofUse(
    'priority_level_seat_utilization',
    'utilization of seats for any stage of execution (but only initial stage for WATCHes)',
    ({ seatRatio }) => [{ labels: { phase: 'executing' }, value: seatRatio.figures }],
  ),
  ofUse(
    'priority_level_request_utilization',
    'number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)',
    ({ executingRatio, waitingRatio }) => [
      { labels: { phase: 'executing' }, value: executingRatio.figures },
      { labels: { phase: 'waiting' }, value: waitingRatio.figures },
    ],
  ),
  ofUse(
    'demand_seats',
    '(the number of seats each priority level could use) / (nominal number of seats for that level)',
    ({ demandRatio }) => [{ labels: {}, value: demandRatio.figures }],
  ),
]

const phases = ['executing', 'waiting'] as const
const kinds = ['mutating', 'readOnly'] as const

const all: readonly FlowMetric[] = [
  ...limitMetrics,
  {
    name: `${prefix}seat_fair_frac`,
    help: "[ALPHA] Fair fraction of server's concurrency to allocate to each priority level that can use it",
    type: 'gauge',
    values: ({ fairFraction }) => [{ labels: {}, value: fairFraction }],
  },
  ...flowMetrics,
  ...dispatchMetrics,
  ...useMetrics,
  {
    name: `${prefix}read_vs_write_current_requests`,
    help: 'EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of the number of requests (as a fraction of the relevant limit) waiting or in regular stage of execution',
    type: 'histogram',
    values: (control) =>
      phases.flatMap((phase) =>
        kinds.map((kind) => ({
          labels: { phase, request_kind: kind },
          value: control.inFlight[kind][phase].use(control.now()),
        })),
      ),
  },
]

const inOrder = ({ labels, value }: MetricValue): MetricValue => ({
  labels: Object.fromEntries(Object.entries(labels).sort()),
  value,
})

/** Values are made when they are read. */
export const flowControlMetrics = (control: FlowControl): MetricFamily[] =>
  all.map(({ values, ...about }) => ({ ...about, values: () => values(control).map(inOrder) }))
