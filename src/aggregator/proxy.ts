/** Forwards requests for an aggregated API to its server. Upstream: kube-aggregator, handler_proxy.go. */
import type { OutgoingHttpHeaders } from 'node:http'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PlainTextError } from '#api/plain-text-error.js'
import { goNetError, type NetError } from '#go/net-error.js'
import { limits } from '#limits'
import { type Destination, forward, forwardUpgrade, type Upgrade } from '#routes/forward.js'
import { headersToSend } from '#routes/forwarded-headers.js'
import { type APIService, isAvailable } from './api-service.js'
import type { Backends } from './backends.js'
import { frontProxyHeaders } from './front-proxy-headers.js'

interface ProxyDeps {
  /** The APIService that answers for a path, when another server does. */
  readonly find: (path: string) => { readonly service: APIService } | undefined
  readonly backends: Backends
  readonly upgradeOf: (request: FastifyRequest) => Upgrade | undefined
}

const unavailable = (): PlainTextError => new PlainTextError(503, 'service unavailable\n')

const unreachable = (error: NetError): PlainTextError =>
  new PlainTextError(503, `error trying to reach service: ${goNetError(error)}\n`)

/** Go's url.Values.Encode writes the query in order of its keys. */
const targetOf = ({ url }: FastifyRequest): string => {
  const [own = '/', query = ''] = url.split(/\?(.*)/s)
  const pairs = new URLSearchParams(query)
  pairs.sort()
  const text = pairs.toString()
  return text === '' ? own : `${own}?${text}`
}

const forwardedUri = (target: string): string => {
  const own = target.split('?', 1)[0]!
  const clean = path.posix.normalize(own).replace(/(.)\/$/, '$1')
  return own.endsWith('/') && clean !== '/' ? `${clean}/` : clean
}

const headersFor = (request: FastifyRequest, { url }: Destination): OutgoingHttpHeaders => {
  const { raw, kube } = request
  return {
    ...headersToSend(request),
    host: url.host,
    'audit-id': raw.headers['audit-id'] || request.id,
    ...frontProxyHeaders(kube.user),
  }
}

const isRedirect = (code = 0, location: string | undefined): boolean =>
  code >= 300 && code < 400 && location !== undefined

/** A redirect would send the client's credentials wherever the backend likes. */
const redirected = (): PlainTextError =>
  new PlainTextError(502, 'the backend attempted to redirect this request, which is not permitted')

/** `/apis/GROUP/VERSION`: every client waits for it. */
const isDiscovery = ({ isResourceRequest, path: asked }: FastifyRequest['kube']['info']): boolean =>
  !isResourceRequest && asked.split('/').filter((part) => part !== '').length === 3

const handOn = async (
  service: APIService,
  request: FastifyRequest,
  reply: FastifyReply,
  { backends, upgradeOf }: ProxyDeps,
): Promise<unknown> => {
  if (!isAvailable(service)) throw unavailable()
  const target = targetOf(request)
  const destination = await backends.destination(service, target).catch(() => {
    throw unavailable()
  })
  const headers = headersFor(request, destination)
  const upgrade = upgradeOf(request)
  if (upgrade !== undefined)
    return forwardUpgrade(destination, request, reply, upgrade, { headers, unreachable })
  return forward(destination, request, reply, {
    headers: {
      ...headers,
      'x-forwarded-uri': forwardedUri(target),
      'x-forwarded-host': destination.url.host,
      'x-forwarded-proto': 'https',
    },
    hasBody: true,
    unreachable,
    refuse: ({ statusCode, headers: { location } }) =>
      isRedirect(statusCode, location) ? Promise.resolve(redirected()) : undefined,
    ...(isDiscovery(request.kube.info) ? { timeoutMs: limits.aggregatedDiscoveryTimeoutMs } : {}),
  })
}

/** A hook behind the filters and before every route: the body has not been read, and any method and path is forwarded. */
export const proxyAggregated = (app: FastifyInstance, deps: ProxyDeps): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const found = deps.find(request.kube.info.path)
    if (found === undefined) return done()
    // The other server does the work, so the request gives up its seat here.
    request.kube.seat?.leave(performance.now())
    handOn(found.service, request, reply, deps).catch((error: Error) => {
      if (!reply.sent) done(error)
    })
  })
}
