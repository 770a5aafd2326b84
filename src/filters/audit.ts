/**
 * Writes the audit events of each request that the policy names: when it comes, when a long answer begins, and when the
 * answer is complete, before its last bytes go out (apiserver, pkg/endpoints/filters/audit.go).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { internalFailure } from '#api/plain-text-error.js'
import { whenKnown } from '#async/when-known.js'
import { AuditEvent, type Deliver } from '#audit/audit-event.js'
import type { Asked, Verdict } from '#audit/policy.js'
import { attributesOf } from '#authz/authorizer.js'
import type { Filter } from './kube-request.js'
import { isLongRunning } from './long-running.js'
import { sourceIps } from './source-ips.js'

export interface Auditor {
  readonly verdictOf: (asked: Asked) => Verdict
  readonly deliver: Deliver
  /** Called for a request that is refused because its event could not be kept. */
  readonly rejected: () => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

const begin = (
  { verdictOf, deliver, now }: Auditor,
  request: FastifyRequest,
  reply: FastifyReply,
  user: Asked['user'],
): AuditEvent | undefined => {
  const { kube } = request
  const asked = { ...attributesOf(kube.user, kube.info), user }
  const verdict = verdictOf(asked)
  if (verdict.level === 'None') return undefined
  const received = {
    asked,
    auditId: String(reply.getHeader('audit-id')),
    requestUri: request.url,
    userAgent: request.headers['user-agent'] ?? '',
    sourceIps: sourceIps(request),
    at: kube.now,
  }
  kube.audit = new AuditEvent(verdict, received, { deliver, now })
  for (const [key, value] of kube.authenticationNotes ?? []) kube.audit.annotate(key, value)
  return kube.audit
}

/** Wraps Node's own methods of the answer, which every answer calls, with Fastify or without. */
const whenAnswered = ({ raw }: FastifyReply, tell: (code: number) => void): (() => void) => {
  const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => typeof raw
  let isTold = false
  const answered = (code = raw.statusCode): void => {
    if (isTold) return
    isTold = true
    tell(code)
  }
  raw.writeHead = (code: number, ...rest: unknown[]) => {
    answered(code)
    return writeHead(code, ...rest)
  }
  return answered
}

const followAnswer = (event: AuditEvent, request: FastifyRequest, reply: FastifyReply): void => {
  const { raw } = reply
  const isLong = isLongRunning(request.kube.info)
  const answered = whenAnswered(reply, (code) =>
    isLong ? event.started(code) : event.answeredCode(code),
  )
  const end = raw.end.bind(raw) as (...args: unknown[]) => typeof raw
  raw.end = ((...args: unknown[]) => {
    answered()
    const isKept = event.reach('ResponseComplete')
    if (!(isKept instanceof Promise)) return end(...args)
    isKept.then(() => end(...args))
    return raw
  }) as typeof raw.end
  request.kube.whenOver(() => {
    if (!event.isAnswered) {
      event.brokenOff()
      if (isLong) event.reach('ResponseStarted')
    }
    event.reach('ResponseComplete')
  })
}

/** Comes after authentication and before impersonation. */
export const audit =
  (auditor: Auditor): Filter =>
  (request, reply) => {
    const event = begin(auditor, request, reply, request.kube.user)
    if (event === undefined) return
    const check = (isKept: boolean): void => {
      if (!isKept) {
        auditor.rejected()
        throw internalFailure(request.url, 'failed to store audit event')
      }
      followAnswer(event, request, reply)
    }
    return whenKnown(event.reach('RequestReceived'), check)
  }

/** If a filter before `audit` refuses, only ResponseStarted is written (apiserver, WithFailedAuthenticationAudit). */
export const auditRefusals = (auditor: Auditor, filter: Filter): Filter => {
  const refused = (request: FastifyRequest, reply: FastifyReply, error: unknown): never => {
    const event = begin(auditor, request, reply, undefined)
    if (event !== undefined) whenAnswered(reply, (code) => event.started(code))
    throw error
  }
  return (request, reply) => {
    try {
      return filter(request, reply)?.catch((error: unknown) => refused(request, reply, error))
    } catch (error) {
      return refused(request, reply, error)
    }
  }
}
