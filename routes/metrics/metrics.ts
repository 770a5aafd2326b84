/** /metrics in Prometheus' text form, written by prom-client. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { parseAccept } from '#api/accept.js'
import { once } from '#async/once.js'
import { acceptsGzip } from '../answers/send-bytes.js'
import { familiesOf, type MetricSources } from './metric-families.js'

const compress = promisify(gzip)

const startedAt = String(Math.round(performance.timeOrigin / 1000))

const escapings = ['allow-utf-8', 'underscores', 'dots', 'values']

/** How names would be escaped that are no plain ones. There are none, but clients are told what they asked for (expfmt.Negotiate). */
const escapingFor = (request: FastifyRequest): string => {
  let escaping = 'underscores'
  for (const { type, parameters } of parseAccept(request.headers.accept)) {
    const wanted = parameters.get('escaping') ?? ''
    if (escapings.includes(wanted)) escaping = wanted
    if (type === 'text/plain' && ['', '0.0.4'].includes(parameters.get('version') ?? '')) break
  }
  return escaping
}

/** Packed whatever its size, as promhttp does. */
const sendRegistry = async (
  request: FastifyRequest,
  reply: FastifyReply,
  registry: Registry,
): Promise<FastifyReply> => {
  const text = await registry.metrics()
  reply
    .header('content-type', `${registry.contentType}; escaping=${escapingFor(request)}`)
    .header('process-start-time-unix', startedAt)
  if (!acceptsGzip(request)) return reply.send(text)
  return reply.header('content-encoding', 'gzip').send(await compress(text))
}

/** DELETE sets back what has been counted; every other method reads, as upstream's handlers do. */
export const installMetrics = (app: FastifyInstance, sources: MetricSources): void => {
  const { requests, health } = sources
  const load = () => import('#metrics/registry.js')
  const pages = [
    {
      url: '/metrics',
      counted: requests,
      registry: once(async () =>
        (await load()).makeRegistry(familiesOf(sources), sources.disabled),
      ),
    },
    {
      url: '/metrics/slis',
      counted: health,
      registry: once(async () => (await load()).makeHealthRegistry(health)),
    },
  ]
  for (const { url, counted, registry } of pages)
    app.all(url, async (request, reply) => {
      if (request.method !== 'DELETE') return sendRegistry(request, reply, await registry())
      counted.reset()
      return reply.header('content-type', 'text/plain; charset=utf-8').send('metrics reset\n')
    })
}
