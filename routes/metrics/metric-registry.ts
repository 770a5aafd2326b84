/** The metrics in prom-client's registry. Loaded when somebody scrapes, and prom-client with it. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { once } from '#async/once.js'
import type { HistogramFigures } from '#metrics/histogram.js'
import type { MetricFamily, MetricLabels, MetricValue } from '#metrics/metric-family.js'
import type { HealthResults } from '../health-results.js'
import type { RequestMetrics } from './request-metrics.js'

/** Which APIServices are unavailable now, and how often each became so. */
export interface ApiServiceFigures {
  unavailable(): readonly { name: string; isUnavailable: boolean }[]
  unavailableTotals(): readonly { name: string; reason: string; value: number }[]
}

/** What the audit log was sent, which levels requests had, and what could not be kept, by backend. */
export interface AuditFigures {
  readonly events: number
  readonly rejected: number
  readonly errors: Readonly<Record<string, number>>
  readonly levels: Readonly<Record<string, number>>
}

interface Highest {
  readonly highest: number
}

/** The highest numbers of one kind of request in the last second. */
type InFlight = Readonly<Record<'executing' | 'waiting', Highest>>

export interface MetricSources {
  readonly requests: RequestMetrics
  readonly health: HealthResults
  readonly inFlight: { readonly readOnly: InFlight; readonly mutating: InFlight }
  /** Empty if requests have no priority levels. */
  readonly flowControl: readonly MetricFamily[]
  readonly build: MetricLabels
  readonly apiServices: ApiServiceFigures
  /** Names of metrics to leave out. */
  readonly disabled: readonly string[]
  readonly features: () => readonly { name: string; stage: string; enabled: boolean }[]
  /** Undefined if nothing is audited. */
  readonly audit: AuditFigures | undefined
  /** Metrics that are counted where something happens. */
  readonly families: readonly MetricFamily[]
}

type Value = { value: number; labels: Record<string, string>; metricName?: string }

/** A metric whose values are made when it is read. */
const metric = (name: string, help: string, type: string, values: () => Value[]) => ({
  name,
  get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
})

const register = (registry: Registry, metrics: ReturnType<typeof metric>[]): Registry => {
  // prom-client uses no more of a metric than these have.
  for (const one of metrics) registry.registerMetric(one as never)
  return registry
}

const byLabel = (label: string, counts: Readonly<Record<string, number>> = {}): Value[] =>
  Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }))

const auditMetrics = (audit: AuditFigures | undefined) => [
  metric(
    'apiserver_audit_event_total',
    '[ALPHA] Counter of audit events generated and sent to the audit backend.',
    'counter',
    () => [{ labels: {}, value: audit?.events ?? 0 }],
  ),
  metric(
    'apiserver_audit_requests_rejected_total',
    '[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.',
    'counter',
    () => [{ labels: {}, value: audit?.rejected ?? 0 }],
  ),
  metric(
    'apiserver_audit_level_total',
    '[ALPHA] Counter of policy levels for audit events (1 per request).',
    'counter',
    () => byLabel('level', audit?.levels),
  ),
  metric(
    'apiserver_audit_error_total',
    '[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
    'counter',
    () => byLabel('plugin', audit?.errors),
  ),
]

const histogramValues = (
  name: string,
  labels: MetricLabels,
  { bounds, buckets, sum, count }: HistogramFigures,
): Value[] => {
  let below = 0
  const steps = bounds.map((bound, at) => {
    below += buckets[at]!
    return { value: below, labels: { ...labels, le: String(bound) }, metricName: `${name}_bucket` }
  })
  return [
    ...steps,
    { value: count, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` },
    { value: sum, labels: { ...labels }, metricName: `${name}_sum` },
    { value: count, labels: { ...labels }, metricName: `${name}_count` },
  ]
}

const valuesOf = (name: string, values: readonly MetricValue[]): Value[] =>
  values.flatMap(({ labels, value }) =>
    typeof value === 'number'
      ? [{ labels: { ...labels }, value }]
      : histogramValues(name, labels, value),
  )

const familyMetric = (family: MetricFamily) =>
  metric(family.name, family.help, family.type, () => valuesOf(family.name, family.values()))

const byKind = (
  { readOnly, mutating }: MetricSources['inFlight'],
  phase: keyof InFlight,
): Value[] => [
  { labels: { request_kind: 'mutating' }, value: mutating[phase].highest },
  { labels: { request_kind: 'readOnly' }, value: readOnly[phase].highest },
]

const inQueueMetric = (inFlight: MetricSources['inFlight']) =>
  metric(
    'apiserver_current_inqueue_requests',
    '[ALPHA] Maximal number of queued requests in this apiserver per request kind in last second.',
    'gauge',
    () => byKind(inFlight, 'waiting'),
  )

/** Of this process, whatever servers it has: nobody could take back what is followed for them. */
const ofProcess = once(() => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
})

export const makeRegistry = ({
  requests,
  inFlight,
  flowControl,
  build,
  apiServices,
  features,
  disabled,
  audit,
  families,
}: MetricSources): Registry => {
  const registry = Registry.merge([ofProcess()])
  const all = [
    ...auditMetrics(audit),
    ...families.map(familyMetric),
    familyMetric({
      name: 'apiserver_request_total',
      help: 'Requests by verb, resource and answer.',
      type: 'counter',
      values: () => requests.totals,
    }),
    familyMetric({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the arrival of a request to the end of its answer.',
      type: 'histogram',
      values: () => requests.durations,
    }),
    metric(
      'apiserver_current_inflight_requests',
      '[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
      'gauge',
      () => byKind(inFlight, 'executing'),
    ),
    // Requests queue only where there are priority levels.
    ...(flowControl.length === 0 ? [] : [inQueueMetric(inFlight)]),
    ...flowControl.map(familyMetric),
    metric(
      'aggregator_unavailable_apiservice',
      'Gauge of APIServices which are marked as unavailable broken down by APIService name.',
      'gauge',
      () =>
        apiServices
          .unavailable()
          .map(({ name, isUnavailable }) => ({ labels: { name }, value: isUnavailable ? 1 : 0 })),
    ),
    metric(
      'aggregator_unavailable_apiservice_total',
      'Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
      'counter',
      () =>
        apiServices
          .unavailableTotals()
          .map(({ name, reason, value }) => ({ labels: { name, reason }, value })),
    ),
    metric(
      'kubernetes_feature_enabled',
      '[BETA] This metric records the data about the stage and enablement of a k8s feature.',
      'gauge',
      () =>
        features().map(({ name, stage, enabled }) => ({
          labels: { name, stage },
          value: enabled ? 1 : 0,
        })),
    ),
    metric('kubernetes_build_info', 'The version that this server answers as.', 'gauge', () => [
      { labels: { ...build }, value: 1 },
    ]),
  ]
  register(registry, all)
  for (const name of disabled) registry.removeSingleMetric(name)
  return registry
}

/** The registry of /metrics/slis. */
export const makeHealthRegistry = (health: HealthResults): Registry => {
  const all = [
    metric(
      'kubernetes_healthcheck',
      '[STABLE] This metric records the result of a single healthcheck.',
      'gauge',
      () =>
        health.results.map(({ name, type, outcome }) => ({
          labels: { name, type },
          value: outcome === 'success' ? 1 : 0,
        })),
    ),
    metric(
      'kubernetes_healthchecks_total',
      '[STABLE] This metric records the results of all healthcheck.',
      'counter',
      () =>
        health.results.flatMap(({ name, type, totals }) =>
          [...totals].map(([status, value]) => ({ labels: { name, status, type }, value })),
        ),
    ),
  ]
  return register(new Registry(), all)
}
