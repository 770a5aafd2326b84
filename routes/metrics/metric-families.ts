/** What /metrics tells beside the figures of the process. */
import { formatGroupResource } from '#api/group-version.js'
import type { HealthResults } from '#metrics/health-results.js'
import type { MetricFamily, MetricLabels, MetricValue } from '#metrics/metric-family.js'
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

/** Objects of a resource and the bytes that they take in the store. */
export interface StoredSize {
  readonly group: string
  readonly resource: string
  readonly objects: number
  readonly bytes: number
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
  readonly sizes: () => readonly StoredSize[]
  readonly apiServices: ApiServiceFigures
  /** Names of metrics to leave out. */
  readonly disabled: readonly string[]
  readonly features: () => readonly { name: string; stage: string; enabled: boolean }[]
  /** Undefined if nothing is audited. */
  readonly audit: AuditFigures | undefined
  /** Metrics that are counted where something happens. */
  readonly families: readonly MetricFamily[]
}

const metric = (
  type: MetricFamily['type'],
  name: string,
  help: string,
  values: MetricFamily['values'],
): MetricFamily => ({ type, name, help, values })

const byLabel = (label: string, counts: Readonly<Record<string, number>> = {}): MetricValue[] =>
  Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }))

const auditMetrics = (audit: AuditFigures | undefined) => [
  metric(
    'counter',
    'apiserver_audit_event_total',
    '[ALPHA] Counter of audit events generated and sent to the audit backend.',
    () => [{ labels: {}, value: audit?.events ?? 0 }],
  ),
  metric(
    'counter',
    'apiserver_audit_requests_rejected_total',
    '[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.',
    () => [{ labels: {}, value: audit?.rejected ?? 0 }],
  ),
  metric(
    'counter',
    'apiserver_audit_level_total',
    '[ALPHA] Counter of policy levels for audit events (1 per request).',
    () => byLabel('level', audit?.levels),
  ),
  metric(
    'counter',
    'apiserver_audit_error_total',
    '[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
    () => byLabel('plugin', audit?.errors),
  ),
]

const byKind = (
  { readOnly, mutating }: MetricSources['inFlight'],
  phase: keyof InFlight,
): MetricValue[] => [
  { labels: { request_kind: 'mutating' }, value: mutating[phase].highest },
  { labels: { request_kind: 'readOnly' }, value: readOnly[phase].highest },
]

const inQueueMetric = (inFlight: MetricSources['inFlight']) =>
  metric(
    'gauge',
    'apiserver_current_inqueue_requests',
    '[ALPHA] Maximal number of queued requests in this apiserver per request kind in last second.',
    () => byKind(inFlight, 'waiting'),
  )

const sizeMetrics = (sizes: MetricSources['sizes']) => [
  metric(
    'gauge',
    'apiserver_resource_objects',
    '[ALPHA] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.',
    () =>
      sizes().map(({ group, resource, objects }) => ({
        labels: { group, resource },
        value: objects,
      })),
  ),
  metric(
    'gauge',
    'apiserver_resource_size_estimate_bytes',
    '[ALPHA] Estimated size of stored objects in database. Estimate is based on sum of last observed sizes of serialized objects. In case of a fetching error, the value will be -1.',
    () =>
      sizes().map(({ group, resource, bytes }) => ({ labels: { group, resource }, value: bytes })),
  ),
  metric(
    'gauge',
    'apiserver_storage_objects',
    '[STABLE] [DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.',
    () =>
      sizes().map(({ objects, ...of }) => ({
        labels: { resource: formatGroupResource(of) },
        value: objects,
      })),
  ),
]

export const familiesOf = ({
  requests,
  inFlight,
  flowControl,
  build,
  sizes,
  apiServices,
  features,
  audit,
  families,
}: MetricSources): MetricFamily[] => [
  ...auditMetrics(audit),
  ...families,
  metric(
    'counter',
    'apiserver_request_total',
    'Requests by verb, resource and answer.',
    () => requests.totals,
  ),
  metric(
    'histogram',
    'apiserver_request_duration_seconds',
    'Time from the arrival of a request to the end of its answer.',
    () => requests.durations,
  ),
  metric(
    'gauge',
    'apiserver_requested_deprecated_apis',
    '[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
    () => requests.deprecated,
  ),
  ...sizeMetrics(sizes),
  metric(
    'gauge',
    'apiserver_current_inflight_requests',
    '[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
    () => byKind(inFlight, 'executing'),
  ),
  // Requests queue only where there are priority levels.
  ...(flowControl.length === 0 ? [] : [inQueueMetric(inFlight)]),
  ...flowControl,
  metric(
    'gauge',
    'aggregator_unavailable_apiservice',
    'Gauge of APIServices which are marked as unavailable broken down by APIService name.',
    () =>
      apiServices
        .unavailable()
        .map(({ name, isUnavailable }) => ({ labels: { name }, value: isUnavailable ? 1 : 0 })),
  ),
  metric(
    'counter',
    'aggregator_unavailable_apiservice_total',
    'Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
    () =>
      apiServices
        .unavailableTotals()
        .map(({ name, reason, value }) => ({ labels: { name, reason }, value })),
  ),
  metric(
    'gauge',
    'kubernetes_feature_enabled',
    '[BETA] This metric records the data about the stage and enablement of a k8s feature.',
    () =>
      features().map(({ name, stage, enabled }) => ({
        labels: { name, stage },
        value: enabled ? 1 : 0,
      })),
  ),
  metric('gauge', 'kubernetes_build_info', 'The version that this server answers as.', () => [
    { labels: { ...build }, value: 1 },
  ]),
]
