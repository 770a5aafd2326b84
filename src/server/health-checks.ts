/** What /healthz, /livez and /readyz look at. */
import type { OpenRequests } from '#filters/open-requests.js'
import type { HealthCheck, HealthChecks } from '#routes/healthz.js'
import type { RegistryStores } from './registry-stores.js'

export interface HealthSources {
  stores: Pick<RegistryStores, 'health'>
  openRequests: OpenRequests
}

/** Upstream's names where there is one: `etcd` is the storage, whatever it is. */
export const healthChecks = ({ stores, openRequests }: HealthSources): HealthChecks => {
  const ping: HealthCheck = { name: 'ping', check: () => undefined }
  const log: HealthCheck = { name: 'log', check: () => undefined }
  const etcd: HealthCheck = { name: 'etcd', check: () => stores.health() }
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check: () => (openRequests.draining ? 'process is shutting down' : undefined),
  }
  return {
    healthz: [ping, log, etcd],
    livez: [ping, log, etcd],
    readyz: [ping, log, etcd, shutdown],
  }
}
