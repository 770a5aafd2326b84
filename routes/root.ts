/** `/`: the paths that there are, those of aggregated APIs included. */
import type { FastifyInstance, RouteHandler } from 'fastify'
import { formatGroupVersion } from '#api/group-version.js'
import type { DiscoverySource } from './discovery/discovery.js'
import type { RemoteSource } from './discovery/remote-versions.js'
import type { HealthChecks } from './healthz.js'

const fixed = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/apis/',
  '/flagz',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/statusz',
  '/version',
]

export const installRoot = (
  app: FastifyInstance,
  source: DiscoverySource,
  remote: RemoteSource,
  checks: HealthChecks,
): void => {
  const health = Object.entries(checks).flatMap(([endpoint, list]) => [
    `/${endpoint}`,
    ...(list as HealthChecks['healthz']).map(({ name }) => `/${endpoint}/${name}`),
  ])
  const index: RouteHandler = (_request, reply) => {
    const paths = new Set([...fixed, ...health])
    const served = Array.from(source, ({ gvr }) => gvr)
    for (const { group, version } of [...served, ...remote.versions()]) {
      if (group !== '') paths.add(`/apis/${group}`)
      paths.add(`${group === '' ? '/api' : '/apis'}/${formatGroupVersion({ group, version })}`)
    }
    return reply
      .header('content-type', 'application/json')
      .send(Buffer.from(JSON.stringify({ paths: [...paths].sort() }, null, 2)))
  }
  for (const url of ['/', '/index.html']) app.all(url, index)
}
