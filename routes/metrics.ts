/** /metrics in Prometheus' text form, written by prom-client. */
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { durationBuckets, type Labels, type RequestMetrics } from './request-metrics.js'

export interface MetricSources {
  readonly requests: RequestMetrics
  /** Requests that run now. */
  readonly inFlight: () => { reading: number; mutating: number }
  readonly build: Labels
}

type Value = { value: number; labels: Record<string, string>; metricName?: string }

/** A metric whose values are made when it is read. */
const metric = (name: string, help: string, type: string, values: () => Value[]) => ({
  name,
  get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
})

const durationValues = (requests: RequestMetrics, name: string): Value[] =>
  [...requests.durations.values()].flatMap(({ labels, buckets, sum, count }) => {
    let below = 0
    const steps = durationBuckets.map((bound, at) => {
      below += buckets[at]!
      return {
        value: below,
        labels: { ...labels, le: String(bound) },
        metricName: `${name}_bucket`,
      }
    })
    return [
      ...steps,
      { value: count, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` },
      { value: sum, labels: { ...labels }, metricName: `${name}_sum` },
      { value: count, labels: { ...labels }, metricName: `${name}_count` },
    ]
  })

const makeRegistry = async ({ requests, inFlight, build }: MetricSources): Promise<Registry> => {
  const { Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const duration = 'apiserver_request_duration_seconds'
  const all = [
    metric('apiserver_request_total', 'Requests by verb, resource and answer.', 'counter', () =>
      [...requests.totals.values()].map(({ labels, value }) => ({ labels: { ...labels }, value })),
    ),
    metric(
      duration,
      'Time from the arrival of a request to the end of its answer.',
      'histogram',
      () => durationValues(requests, duration),
    ),
    metric('apiserver_current_inflight_requests', 'Requests that run now.', 'gauge', () => {
      const { reading, mutating } = inFlight()
      return [
        { labels: { request_kind: 'readOnly' }, value: reading },
        { labels: { request_kind: 'mutating' }, value: mutating },
      ]
    }),
    metric('kubernetes_build_info', 'The version that this server answers as.', 'gauge', () => [
      { labels: { ...build }, value: 1 },
    ]),
  ]
  // prom-client asks no more of a metric than this.
  for (const one of all) registry.registerMetric(one as never)
  return registry
}

export const installMetrics = (app: FastifyInstance, sources: MetricSources): void => {
  let registry: Promise<Registry> | undefined
  app.get('/metrics', async (_request, reply) => {
    registry ??= makeRegistry(sources)
    const made = await registry
    return reply.header('content-type', made.contentType).send(await made.metrics())
  })
}
