/**
 * The order of the filters, in one array. It is upstream's (pkg/server/config.go, DefaultBuildHandlerChain): the
 * request is parsed before its sender is known; impersonation needs to know who asks; the limit of requests in flight
 * protects the authorizer, which may have to read; and authorization comes last, so that it judges the impersonated
 * user. Only faults for tests come after it, so that they reveal nothing to users who may not see it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#api/clock.js'
import { internalFailure, type PlainTextError } from '#api/plain-text-error.js'
import { anonymousUser } from '#api/user-info.js'
import type { Authenticator } from '#authn/authenticator.js'
import type { CertificateReader } from '#authn/client-certificate.js'
import type { Authorizer } from '#authz/authorizer.js'
import { limits } from '#limits'
import { type Auditor, audit, auditRefusals } from './audit.js'
import { authentication } from './authentication.js'
import { authorization } from './authorization.js'
import { probabilisticGoaway, retryAfter } from './connection-ends.js'
import { cors } from './cors.js'
import { impersonation } from './impersonation.js'
import { whenItsTurn } from './in-turn.js'
import { type Filter, KubeRequest } from './kube-request.js'
import type { OpenRequests } from './open-requests.js'
import { isUndetermined, parseRequestInfo } from './request-info.js'
import { requestTimeout } from './request-timeout.js'
import { askedMethod } from './unusual-methods.js'

interface ChainDeps {
  authenticator: Authenticator
  /** Whether a request for a path without credentials goes on as system:anonymous. */
  allowsAnonymous: (path: string) => boolean
  certificates: CertificateReader
  authorizer: Authorizer
  openRequests: OpenRequests
  /** Upstream's --request-timeout. */
  requestTimeoutMs: number
  /** Options for answers to browsers and load-balanced clients; each may be off. */
  frontEnd: FrontEnd
  /** Bounds what runs at once: priority and fairness, or limits of the whole server. */
  flowControl: Filter
  /** Requests that fail on purpose. */
  faults: Filter
  /** Undefined if nothing is audited. */
  auditor?: Auditor | undefined
}

interface FrontEnd {
  /** Parts of Strict-Transport-Security. */
  readonly hsts: readonly string[]
  /** Patterns of origins. */
  readonly cors: readonly string[]
  readonly goawayChance: number
  readonly random: () => number
  readonly sendsRetryAfter: boolean
}

const atTheFront = ({ frontEnd, openRequests, requestTimeoutMs }: ChainDeps): Filter[] => {
  const { hsts, goawayChance, random, sendsRetryAfter } = frontEnd
  const directives = hsts.join('; ')
  return [
    ...(sendsRetryAfter ? [retryAfter(openRequests)] : []),
    ...(hsts.length > 0
      ? [((_, reply) => void reply.header('strict-transport-security', directives)) as Filter]
      : []),
    ...(goawayChance > 0 ? [probabilisticGoaway(goawayChance, random)] : []),
    requestTimeout(requestTimeoutMs),
    ...(frontEnd.cors.length > 0 ? [cors(frontEnd.cors)] : []),
  ]
}

export const filterChain = (deps: ChainDeps): readonly Filter[] => [
  ...untilKnown(deps),
  impersonation(deps.authorizer),
  deps.openRequests.track,
  deps.flowControl,
  authorization(deps.authorizer),
  deps.faults,
]

const untilKnown = (deps: ChainDeps): Filter[] => {
  const { auditor } = deps
  const filters = [
    ...atTheFront(deps),
    authentication(deps.authenticator, deps.allowsAnonymous, deps.certificates),
  ]
  return auditor === undefined
    ? filters
    : [...filters.map((filter) => auditRefusals(auditor, filter)), audit(auditor)]
}

/** A client that leaves midway is no error of ours; 'close' follows. */
const ignoreError = (): void => {}

/** A request that was answered before its body was read has this long to send the rest. */
const endUnlessRead = (request: FastifyRequest['raw']): void => {
  const { socket } = request
  setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, limits.writeTimeoutMs).unref()
}

/** Comes before authentication (WithRequestInfo). */
const undetermined = (url: string): PlainTextError => {
  const why = `failed to create RequestInfo: unable to determine kind and namespace from url, ${url}`
  return internalFailure(url, why)
}

const begin = (request: FastifyRequest, reply: FastifyReply, now: number, ended: Ended): void => {
  const { raw } = reply
  const info = parseRequestInfo(askedMethod(request.raw), request.url)
  const kube = new KubeRequest(info, now, anonymousUser, raw)
  request.kube = kube
  // A client may send its own audit id (WithAuditInit).
  reply.header('audit-id', request.headers['audit-id'] || request.id)
  raw.on('error', ignoreError)
  kube.whenOver((endedAt) => {
    if (!kube.isCut) ended(request, raw.statusCode, (endedAt - kube.startedAt) / 1000)
    if (!request.raw.complete) endUnlessRead(request.raw)
  })
  if (isUndetermined(info)) throw undetermined(request.url)
  reply.header('cache-control', 'no-cache, private')
}

/** Called for every request when its answer is done or its client has gone. */
type Ended = (request: FastifyRequest, code: number, seconds: number) => void

/** Runs the chain before every route, unknown ones included. Synchronous as long as no filter has to wait. */
export const installChain = (
  app: FastifyInstance,
  clock: Clock,
  filters: readonly Filter[],
  ended: Ended,
): void => {
  app.decorateRequest('kube', null as unknown as KubeRequest)
  app.addHook('onRequest', (request, reply, done) => {
    const runFrom = (start: number): void => {
      for (let i = start; i < filters.length; i++) {
        const waiting = filters[i]!(request, reply)
        if (waiting !== undefined) {
          waiting.then(() => {
            request.kube.resumedAt = performance.now()
            proceed(i + 1)
          }, done)
          return
        }
        if (reply.sent) return
      }
      done()
    }
    const proceed = (start: number): void => {
      try {
        if (start === 0) begin(request, reply, clock.now(), ended)
        // Requests that are reset at once may come by the thousand (HTTP/2 rapid reset), so they must cost little.
        if (!request.kube.isOver && !reply.sent) runFrom(start)
      } catch (error) {
        done(error as Error)
      }
    }
    if (reply.raw.socket === null) whenItsTurn(reply.raw, () => proceed(0))
    else proceed(0)
  })
}
