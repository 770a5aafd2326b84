/** The port: Fastify over TLS with HTTP/1.1 and HTTP/2, set up as a Kubernetes API needs it. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2SecureServer } from 'node:http2'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import fastify, { type FastifyInstance } from 'fastify'
import { routeUnusualMethod } from '#filters/unusual-methods.js'
import { limits } from '#limits'
import { endSilentSessions } from './http2-sessions.js'
import { refuseTunnel, refuseUnreadable } from './refused-requests.js'
import { cleanTarget } from './request-target.js'
import { errorSender, type Report } from './send-error.js'
import type { ShownCertificates } from './shown-certificates.js'

const noCompiler = (): never => {
  throw new Error('API routes have no schemas: bodies are decoded by the registry')
}

/** Missing in the types of `tls`: writes the names into `out.ALPNProtocols`. */
const { convertALPNProtocols } = tls as unknown as {
  convertALPNProtocols(protocols: readonly string[], out: object): void
}

const noQuery: Readonly<Record<string, string>> = {}

interface ListenerOptions {
  certificates: ShownCertificates
  streamsMax: number
  hasHttp2: boolean
  report: Report
}

type FoundContext = (error: null, context: tls.SecureContext | undefined) => void

const tlsOptions = ({ certificates, streamsMax }: ListenerOptions) => ({
  allowHTTP1: true,
  ...certificates.byDefault,
  SNICallback: (name: string, found: FoundContext) => found(null, certificates.forName(name)),
  // Any certificate is let through the handshake: a wrong one gets a 401.
  requestCert: true,
  rejectUnauthorized: false,
  // Go's net/http bounds a handshake by the timeout of the headers; Node would wait for two minutes.
  handshakeTimeout: limits.requestHeadersTimeoutMs,
  // A client whose machine is gone would be listened to for ever.
  keepAlive: true,
  keepAliveInitialDelay: limits.serverKeepAliveMs,
  settings: { maxConcurrentStreams: streamsMax, enableConnectProtocol: true },
})

/** The part of Node's answers of both versions that is needed before there is a Fastify request. */
interface PlainResponse {
  statusCode: number
  setHeader(name: string, value: string): void
  end(text: string): void
}

const refuseBadUrl = (_path: string, _request: unknown, response: PlainResponse): void => {
  response.statusCode = 400
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.end('400 Bad Request')
}

/**
 * An HTTP/2 server that speaks HTTP/1.1 takes these as properties only. Go bounds the bytes of headers, not their number.
 */
const http1Bounds = {
  maxHeaderSize: limits.requestHeaderBytesMax,
  maxHeadersCount: 0,
  requireHostHeader: true,
  keepAliveTimeout: limits.keepAliveTimeoutMs,
  headersTimeout: limits.requestHeadersTimeoutMs,
}

/** What is asked for by a request without a path, and where nothing is. */
const noPath = '*'

/** CONNECT over HTTP/2 is a request like any other, without a path: it has a stream, and no connection to itself. */
const refuseTunnels = (app: FastifyInstance): void => {
  app.server.on('connect', (request: IncomingMessage, over: Socket | ServerResponse) => {
    if (request.httpVersionMajor === 2) app.routing(request, over as ServerResponse)
    else refuseTunnel(over as Socket)
  })
}

export const makeListener = (options: ListenerOptions): FastifyInstance => {
  const sendError = errorSender(options.report)
  const app = fastify({
    http2: true,
    https: tlsOptions(options),
    // Fastify's default would send GOAWAY to a client that only watches.
    http2SessionTimeout: 0,
    // Fastify's own logger would listen to every answer; our code has a logger of its own.
    logger: false,
    // The Audit-ID of the answer.
    genReqId: () => randomUUID(),
    bodyLimit: limits.requestBodyBytesMax,
    exposeHeadRoutes: false,
    // No route has a schema, so Fastify's compilers, 130 files, need not be loaded.
    schemaController: {
      compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler },
    },
    return503OnClosing: false,
    forceCloseConnections: true,
    routerOptions: {
      // A longer segment is refused with the header that it comes in; Fastify's own refusal comes before any hook.
      maxParamLength: limits.requestHeaderBytesMax,
      onBadUrl: refuseBadUrl,
      // Handlers parse the query as Go does (src/registry/query.ts); Fastify's is not used.
      querystringParser: () => noQuery,
    },
    rewriteUrl: (request: { url?: string; method?: string }) => {
      routeUnusualMethod(request)
      return cleanTarget(request.url ?? noPath)
    },
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: sendError,
  } as object) as unknown as FastifyInstance
  // One parser for every media type: handlers decode the bytes.
  app.removeAllContentTypeParsers()
  // The type that routes/installer.ts sets is named, because matching `*` takes Fastify longer.
  app.addContentTypeParser(
    ['application/octet-stream', '*'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  )
  app.setErrorHandler(sendError)
  const server = app.server as unknown as Http2SecureServer
  // Node's HTTP/2 server with allowHTTP1 offers both versions, whatever its options say.
  if (!options.hasHttp2) convertALPNProtocols(['http/1.1'], server)
  refuseTunnels(app)
  endSilentSessions(server)
  Object.assign(app.server, http1Bounds)
  return app
}
