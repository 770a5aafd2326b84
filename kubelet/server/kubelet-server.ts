/** The kubelet's own HTTPS port: logs, commands and connections for the API server and whoever else may (access.ts). */
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { buildInfo } from '#api/build-info.js'
import type { Clock } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import { isZPage, type ZPagePath, type ZPageSources, zPage } from '#api/z-pages.js'
import type { Client } from '#client/client.js'
import type { Log } from '#client/log.js'
import { Callers } from '#component/callers.js'
import { ownCertificate } from '#component/own-certificate.js'
import { getOwn } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { Kubelet } from '../kubelet.js'
import { Access } from './access.js'
import { HttpError, type RequestPath, type Served } from './pod-request.js'
import { serveLogs } from './serve-logs.js'
import { serveMetrics } from './serve-metrics.js'
import { servePortForward } from './serve-port-forward.js'
import { serveSession } from './serve-session.js'
import { serveSummary } from './serve-summary.js'

interface KubeletServerOptions {
  readonly kubelet: Kubelet
  /** What it was started with, for /flagz. */
  readonly flags?: Readonly<Record<string, string>> | undefined
  /** For /configz, of a server at this port. */
  readonly configuration?: (port: number) => JsonObject
  readonly clock: Clock
  readonly log: Log
  readonly address: string
  readonly port: number
  /** A client of the API server, which says who asks; clients with certificates of its CA are accepted. */
  readonly client: Client
}

interface KubeletServer {
  readonly port: number
  close(): Promise<void>
}

type Answer = (served: Served) => Promise<void> | void
const answers: Readonly<Record<string, Answer>> = {
  containerLogs: serveLogs,
  stats: serveSummary,
  metrics: serveMetrics,
  healthz: ({ response }) => void response.end('ok'),
  pods: ({ kubelet, response }) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items: kubelet.pods }))
  },
}

const serveZPage = (
  about: ZPageSources,
  { request, response, clock }: Served,
  path: ZPagePath,
): void => {
  const { headers, text } = zPage(path, about, request, clock.now())
  response.writeHead(200, headers)
  response.end(text)
}

const parsePath = ({ url = '/' }: IncomingMessage): RequestPath => {
  try {
    const { pathname, searchParams } = new URL(url, 'https://kubelet')
    const [kind = '', ...parts] = pathname.split('/').filter(Boolean).map(decodeURIComponent)
    const [namespace = '', pod = '', container = ''] = parts
    return { kind, namespace, pod, container, query: searchParams }
  } catch {
    throw new HttpError(400, '400 Bad Request')
  }
}

export const startKubeletServer = async (options: KubeletServerOptions): Promise<KubeletServer> => {
  const { kubelet, clock, log, address, port, client, configuration = () => ({}) } = options
  const clientCa = client.config.ca
  const { certPem, keyPem } = ownCertificate('kubelet', address, clock)
  const server = https.createServer({
    cert: certPem,
    key: keyPem,
    // A command of exec is in the URL.
    maxHeaderSize: limits.requestHeaderBytesMax,
    requestCert: true,
    rejectUnauthorized: false,
    ...(clientCa ? { ca: clientCa } : {}),
    // A session whose client's machine is gone would last for ever.
    keepAlive: true,
    keepAliveInitialDelay: limits.serverKeepAliveMs,
  })
  const about = {
    component: 'kubelet',
    startedAt: clock.now(),
    build: buildInfo(),
    // Of what has handlers, upstream lists what is no service of go-restful's, and not the page itself.
    paths: ['/configz', '/flagz', '/healthz', '/metrics'],
    flags: options.flags ?? {},
  }
  const { nodeName } = kubelet
  const knowsCa = clientCa !== undefined
  const callers = new Callers({ client, log, knowsCa, takesAnonymous: false })
  const access = new Access({ callers, log, nodeName })
  server.on('request', (request, response) => {
    const answer = async () => {
      const path = parsePath(request)
      await access.check(request, path.kind)
      if (response.destroyed) return
      const served = { kubelet, clock, path, request, response }
      const [page = ''] = (request.url ?? '').split('?', 1)
      if (isZPage(page)) return serveZPage(about, served, page)
      if (page === '/configz') {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ kubeletconfig: configuration(request.socket.localPort!) }))
        return
      }
      const serve = getOwn(answers, path.kind)
      if (!serve) throw new HttpError(404, '404 page not found')
      await serve(served)
    }
    answer().catch((error) => {
      if (response.headersSent) return response.destroy()
      if (error instanceof ApiError) {
        response.writeHead(error.code, { 'content-type': 'application/json' })
        return response.end(JSON.stringify(error.status))
      }
      response.writeHead(error instanceof HttpError ? error.code : 500)
      response.end(error.message)
    })
  })
  server.on('upgrade', async (request, socket, head) => {
    const refuse = (code: number, message: string) =>
      socket.end(
        `HTTP/1.1 ${code} Refused\r\ncontent-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(message)}\r\nconnection: close\r\n\r\n${message}`,
      )
    socket.on('error', (error) => log.debug({ error: error.message }, 'stream ended'))
    try {
      const path = parsePath(request)
      await access.check(request, path.kind)
      if (socket.destroyed) return
      const upgrade = { kubelet, path, request, socket: socket as Socket, head }
      if (path.kind === 'exec' || path.kind === 'attach') serveSession(upgrade)
      else if (path.kind === 'portForward') servePortForward(upgrade)
      else refuse(404, '404 page not found')
    } catch (error) {
      refuse(error instanceof HttpError ? error.code : 500, (error as Error).message)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
