/** The port of a server: filters, routes, and how it closes. */
import type { Http2SecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { systemClock } from '#api/clock.js'
import { sleep } from '#async/sleep.js'
import { certificateReader } from '#authn/client-certificate.js'
import { filterChain, installChain } from '#filters/chain.js'
import { OpenRequests } from '#filters/open-requests.js'
import { limits } from '#limits'
import { RequestMetrics } from '#routes/metrics/request-metrics.js'
import type { Controllers } from '../controllers.js'
import { externalUrl, frontProxyOf, publicHost, reachableHost } from '../credentials/identity.js'
import { flowControlFilter } from '../flowcontrol/start-flow-control.js'
import { bindAddressOf, type ServerOptions } from '../options.js'
import type { ServerState } from '../server-state.js'
import { openCertificates } from './follow-certificates.js'
import { installRoutes } from './install-routes.js'
import { makeListener } from './listener.js'
import { OpenSessions } from './open-sessions.js'
import { OpenSockets } from './open-sockets.js'

interface Port {
  /** Resolves with the number of the port. */
  listen(): Promise<number>
  /** `https://127.0.0.1:6443`, once it listens. */
  url(): string
  /** Stops listening, lets accepted requests finish, ends watches. */
  close(): Promise<void>
}

/** Logs each request at -v=2. That costs a third of the throughput. */
const logRequests = (app: FastifyInstance, logger: Logger): void => {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url, kube } = request
    const milliseconds = Math.round(reply.elapsedTime)
    const user = kube?.user.name
    logger.info({ method, url, user, code: reply.statusCode, milliseconds }, 'request')
    done()
  })
}

const filtersOf = (
  state: ServerState,
  { flowControl }: Controllers,
  openRequests: OpenRequests,
  options: ServerOptions,
) => {
  const { access, trust, audit, faults } = state
  return filterChain({
    authenticator: access.authenticator,
    allowsAnonymous: access.allowsAnonymous,
    certificates: certificateReader(
      () => trust.current,
      frontProxyOf(trust.current.requestHeader),
      systemClock,
    ),
    authorizer: access.authorizer,
    openRequests,
    requestTimeoutMs: options.requestTimeoutMs ?? limits.requestTimeoutMs,
    frontEnd: {
      hsts: options.strictTransportSecurityDirectives ?? [],
      cors: options.corsAllowedOrigins ?? [],
      goawayChance: options.goawayChance ?? 0,
      random: Math.random,
      sendsRetryAfter: options.shutdownSendRetryAfter ?? false,
    },
    flowControl: flowControlFilter(state, flowControl, options),
    faults: faults.filter,
    auditor: audit?.auditor,
  })
}

const everySecond = (app: FastifyInstance, tick: () => void): void => {
  const timer = setInterval(tick, 1000)
  timer.unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

/** Waits only so long for a store that does not answer. */
const leave = async ({ kubernetesService, lease }: Controllers): Promise<void> => {
  const late = new AbortController()
  await Promise.race([
    Promise.all([kubernetesService.withdraw(), lease.release()]),
    sleep(limits.leaveMs, late.signal, { ref: false }),
  ])
  late.abort()
}

export const makePort = (
  state: ServerState,
  controllers: Controllers,
  options: ServerOptions,
): Port => {
  const { logger, served, clock, postStartHooks, inFlight } = state
  const { certificates, follow } = openCertificates(state, options)
  const app = makeListener({
    certificates,
    streamsMax: options.http2MaxStreamsPerConnection || limits.http2StreamsMax,
    hasHttp2: !options.disableHttp2Serving,
    report: (about, message) => logger.error(about, message),
  })
  const server = app.server as unknown as Http2SecureServer
  app.addHook(
    'onClose',
    follow(() => server.setSecureContext(certificates.byDefault)),
  )
  const openSockets = new OpenSockets(app.server)
  const openSessions = new OpenSessions(server)
  const openRequests = new OpenRequests()
  const requests = new RequestMetrics(served)
  const filters = filtersOf(state, controllers, openRequests, options)
  installChain(app, clock, filters, ({ kube, url }, code, seconds) => {
    const isDryRun = url.includes('dryRun=All')
    requests.count(kube.info, isDryRun, code, seconds)
  })
  postStartHooks.finish(
    controllers.flowControl === undefined ? 'max-in-flight-filter' : 'priority-and-fairness-filter',
  )
  if (logger.isLevelEnabled('info')) logRequests(app, logger)
  const requestTimeoutMs = options.requestTimeoutMs ?? limits.requestTimeoutMs
  everySecond(app, () => {
    openRequests.expire(requestTimeoutMs)
    inFlight.endSecond()
  })
  const host = bindAddressOf(options)
  const portNumber = (): number => (app.server.address() as AddressInfo).port
  const urlAt = (name: string): string => `https://${name}:${portNumber()}`
  const publicUrl = (): string =>
    options.externalHostname === undefined
      ? urlAt(publicHost(options))
      : externalUrl(options.externalHostname, portNumber())
  installRoutes(app, { state, controllers, openRequests, requests, publicUrl }, options)
  postStartHooks.finish('apiservice-openapi-controller', 'apiservice-openapiv3-controller')
  const stopListening = (): void => {
    app.server.close()
    openSessions.close()
  }
  return {
    listen: async () => {
      await app.listen({ port: options.port ?? 0, host })
      return portNumber()
    },
    url: () => urlAt(reachableHost(host)),
    close: async () => {
      openRequests.stop()
      // Clients are sent elsewhere before the port closes (apiserver, the pre-shutdown hooks).
      await Promise.all([sleep(options.shutdownDelayMs ?? 0), leave(controllers)])
      if (options.shutdownSendRetryAfter) openRequests.refuse()
      else stopListening()
      await openRequests.drain(limits.drainTimeoutMs)
      if (options.shutdownSendRetryAfter) stopListening()
      const closing = app.close()
      openSockets.end()
      await closing
    },
  }
}
