/** The port: Fastify over TLS with HTTP/1.1 and HTTP/2, set up as a Kubernetes API needs it. */
import { randomUUID } from 'node:crypto'
import type { Http2SecureServer } from 'node:http2'
import tls, { type SecureContextOptions } from 'node:tls'
import fastify, { type FastifyInstance } from 'fastify'
import { routeUnusualMethod } from '#filters/unusual-methods.js'
import { limits } from '#limits'
import { type CertificatePair, loopbackName } from './credentials.js'
import { endSilentSessions } from './http2-sessions.js'
import { refuseTunnel, refuseUnreadable } from './refused-requests.js'
import { cleanTarget } from './request-target.js'
import { errorSender, type Report } from './send-error.js'

const noCompiler = (): never => {
  throw new Error('API routes have no schemas: bodies are decoded by the registry')
}

/** What `tls` has and its types do not know: writes the names into `out.ALPNProtocols`. */
const { convertALPNProtocols } = tls as unknown as {
  convertALPNProtocols(protocols: readonly string[], out: object): void
}

const noQuery: Readonly<Record<string, string>> = {}

interface ListenerOptions {
  serving: CertificatePair
  /** Shown to who asks for `loopbackName`. */
  loopback: CertificatePair | undefined
  /** PEM; client certificates of these are verified. */
  clientAuthorities: readonly string[]
  /** Versions and ciphers of TLS. */
  tls: SecureContextOptions
  /** Shown to who asks for one of these names; of several the last one that fits. */
  sni: readonly { name: string; certificate: CertificatePair }[]
  streamsMax: number
  hasHttp2: boolean
  report: Report
}

const shown = (
  { certPem, keyPem }: CertificatePair,
  { clientAuthorities, tls }: ListenerOptions,
): SecureContextOptions => ({ ...tls, cert: certPem, key: keyPem, ca: [...clientAuthorities] })

const tlsOptions = (options: ListenerOptions) => ({
  allowHTTP1: true,
  ...shown(options.serving, options),
  // Any certificate may be shown; who shows a wrong one is told so by a 401 and not by a broken handshake.
  requestCert: true,
  rejectUnauthorized: false,
  // Go's net/http holds a handshake to the time of the headers; Node would wait for two minutes.
  handshakeTimeout: limits.requestHeadersTimeoutMs,
  settings: { maxConcurrentStreams: options.streamsMax, enableConnectProtocol: true },
})

/** Of Node's answer and of Fastify's for HTTP/2 what is needed for one before there is a request. */
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

/** An HTTP/2 server reads these from itself alone when it speaks HTTP/1.1. Go bounds the bytes of headers, not their number. */
const http1Bounds = {
  maxHeaderSize: limits.requestHeaderBytesMax,
  maxHeadersCount: 0,
  requireHostHeader: true,
  keepAliveTimeout: limits.keepAliveTimeoutMs,
  headersTimeout: limits.requestHeadersTimeoutMs,
}

export const makeListener = (options: ListenerOptions): FastifyInstance => {
  const sendError = errorSender(options.report)
  const app = fastify({
    http2: true,
    https: tlsOptions(options),
    // Fastify's default would send GOAWAY to a client that only watches.
    http2SessionTimeout: 0,
    // Whoever has something to say has our logger: one of Fastify's own would listen to every answer.
    logger: false,
    // The Audit-ID of the answer.
    genReqId: () => randomUUID(),
    bodyLimit: limits.requestBodyBytesMax,
    exposeHeadRoutes: false,
    // No route has a schema for Fastify to compile: without its compilers 130 files less are loaded at the start.
    schemaController: {
      compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler },
    },
    return503OnClosing: false,
    forceCloseConnections: true,
    routerOptions: {
      maxParamLength: 1024,
      onBadUrl: refuseBadUrl,
      // Handlers read the query as Go does (src/registry/query.ts): nobody looks at Fastify's.
      querystringParser: () => noQuery,
    },
    rewriteUrl: (request: { url?: string; method?: string }) => {
      routeUnusualMethod(request)
      return cleanTarget(request.url ?? '/')
    },
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: sendError,
  } as object) as unknown as FastifyInstance
  // One parser for every media type: handlers decode the bytes themselves, once, as the resource wants it.
  app.removeAllContentTypeParsers()
  // The one under which bodies come (routes/installer.ts) is named: Fastify looks long for what only `*` takes.
  app.addContentTypeParser(
    ['application/octet-stream', '*'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  )
  app.setErrorHandler(sendError)
  const server = app.server as unknown as Http2SecureServer
  for (const { name, certificate } of options.sni)
    server.addContext(name, shown(certificate, options))
  // Node's server of both versions would offer both, whatever its options say.
  if (!options.hasHttp2) convertALPNProtocols(['http/1.1'], server)
  if (options.loopback !== undefined)
    server.addContext(loopbackName, shown(options.loopback, options))
  app.server.on('connect', refuseTunnel)
  endSilentSessions(server)
  Object.assign(app.server, http1Bounds)
  return app
}
