/** What the port of a component shows. The component adds to it while it starts. */
import type { HealthCheck } from '#api/health-checks.js'
import type { MetricFamily } from '#metrics/metric-family.js'

export interface ComponentPages {
  /** Upstream's name of it. */
  readonly name: string
  /** By endpoint: healthz, livez, readyz. Others are not there. */
  readonly health: Readonly<Record<string, HealthCheck[]>>
  readonly metrics: MetricFamily[]
  /** Values by the names of flags, for /flagz. */
  readonly flags: Readonly<Record<string, string>>
}
