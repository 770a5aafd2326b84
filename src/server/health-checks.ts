/** What /healthz, /livez and /readyz look at. */

import type { HealthCheck } from '#api/health-checks.js'
import type { OpenRequests } from '#filters/open-requests.js'
import type { HealthChecks } from '#routes/healthz.js'
import type { OpenedEncryption } from './encryption/open-encryption.js'
import type { PostStartHooks } from './post-start-hooks.js'
import type { RegistryStores } from './registry-stores.js'

interface HealthSources {
  stores: Pick<RegistryStores, 'health' | 'areReadable'>
  openRequests: OpenRequests
  postStartHooks: PostStartHooks
  /** Undefined if nothing is encrypted. */
  encryption: Pick<OpenedEncryption, 'health' | 'automaticReload'> | undefined
  /** Upstream's --etcd-healthcheck-timeout and --etcd-readycheck-timeout. */
  healthTimeoutMs: number
  readyTimeoutMs: number
}

/** The hook has finished before anybody can ask. */
const reloadHook: HealthCheck = {
  name: 'poststarthook/start-encryption-provider-config-automatic-reload',
  check: () => undefined,
}

/** Upstream's names where there is one: `etcd` is the storage, whatever it is. */
export const healthChecks = (sources: HealthSources): HealthChecks => {
  const { stores, openRequests, healthTimeoutMs, readyTimeoutMs } = sources
  const ping: HealthCheck = { name: 'ping', check: () => undefined }
  const log: HealthCheck = { name: 'log', check: () => undefined }
  // Always fine: upstream's loopback client has a certificate that can expire, but here nothing inside the server goes
  // through TLS.
  const loopback: HealthCheck = { name: 'loopback-serving-certificate', check: () => undefined }
  const etcd: HealthCheck = {
    name: 'etcd',
    check: seldom(healthTimeoutMs, (timeoutMs) => stores.health({ timeoutMs })),
  }
  // A full store must not restart the process (livez), but send writes elsewhere (readyz).
  const readiness: HealthCheck = {
    name: 'etcd-readiness',
    check: seldom(readyTimeoutMs, (timeoutMs) => stores.health({ timeoutMs, forWrites: true })),
  }
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check: () => (openRequests.stopping ? 'process is shutting down' : undefined),
  }
  const { postStartHooks, encryption } = sources
  const informers: HealthCheck = {
    name: 'informer-sync',
    // Upstream's informers cannot list objects that cannot be decrypted.
    check: () =>
      postStartHooks.informersSynced && stores.areReadable()
        ? undefined
        : 'informers not synced yet',
  }
  const hooks = [
    ...(encryption?.automaticReload === true ? [reloadHook] : []),
    ...postStartHooks.checks,
  ]
  // An unhealthy plugin must not restart the server, so it is not in livez.
  const plugins = encryption?.health === undefined ? [] : [encryption.health]
  return {
    healthz: [ping, log, loopback, etcd, ...plugins, ...hooks],
    livez: [ping, log, loopback, etcd, ...hooks],
    readyz: [ping, log, etcd, readiness, ...plugins, informers, ...hooks, shutdown],
  }
}

/** Upstream's limiter: storage is checked once in half a timeout; checks in between get the last result. */
const seldom = (
  timeoutMs: number,
  ask: (timeoutMs: number) => Promise<string | undefined>,
): HealthCheck['check'] => {
  let asked = Number.NEGATIVE_INFINITY
  let answer: Promise<string | undefined> | undefined
  return () => {
    if (answer === undefined || performance.now() - asked >= timeoutMs / 2) {
      asked = performance.now()
      answer = ask(timeoutMs)
    }
    return answer
  }
}
