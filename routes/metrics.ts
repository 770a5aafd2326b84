/** /metrics in Prometheus' text form, written by prom-client. */
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Labels, RequestMetrics } from './request-metrics.js'

/** Of APIServices: which cannot be used now, and how often each ceased to be. */
export interface ApiServiceFigures {
  unavailable(): readonly { name: string; isUnavailable: boolean }[]
  unavailableTotals(): readonly { name: string; reason: string; value: number }[]
}

export interface MetricSources {
  readonly requests: RequestMetrics
  /** Requests that run now. */
  readonly inFlight: () => { reading: number; mutating: number }
  readonly build: Labels
  readonly apiServices: ApiServiceFigures
}

export const installMetrics = (app: FastifyInstance, sources: MetricSources): void => {
  let registry: Promise<Registry> | undefined
  const startedAt = String(Math.round(performance.timeOrigin / 1000))
  app.all('/metrics', async (_request, reply) => {
    registry ??= import('./metric-registry.js').then(({ makeRegistry }) => makeRegistry(sources))
    const made = await registry
    return reply
      .header('content-type', `${made.contentType}; escaping=underscores`)
      .header('process-start-time-unix', startedAt)
      .send(await made.metrics())
  })
}
