/**
 * Requests that fail on purpose, for tests of clients. It is the last filter: a request that fails here was
 * authenticated, authorized and audited like any other, and is counted with the code that its client sees.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type ApiError,
  conflict,
  failure,
  internalError,
  invalid,
  modifiedMessage,
  notFound,
  resourceDetails,
  serviceUnavailable,
  timeout,
  tooManyRequests,
} from '#api/errors.js'
import { tooMany } from '#api/field-error.js'
import type { RequestInfo } from '#api/request-info.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import { checkFaultRule, type FaultMatch, type FaultRule, type FaultStatus } from './fault-rule.js'
import { hangUp, hangUpWhenAnswered } from './hang-up.js'
import type { Filter } from './kube-request.js'

/** A rule that was added. */
export interface Fault {
  readonly id: string
  readonly rule: FaultRule
  /** How many requests it has failed. A watch counts when it begins. */
  readonly seen: number
  remove(): void
}

/** The first rule that matches a request decides, in the order in which they were added. */
export interface FaultRules {
  /** Throws an error that names what is wrong with the rule. */
  add(rule: FaultRule): Fault
  list(): readonly Fault[]
  /** Removes all rules. */
  clear(): void
}

/** Requests for these never fail, or a rule that matches everything could not be removed. */
const ownPaths = '/kubelevel/'

const ofResources = ['apiGroup', 'resource', 'subresource', 'namespace', 'name'] as const

const fits = (match: FaultMatch, { kube, headers }: FastifyRequest): boolean => {
  const { info, user } = kube
  for (const field of ofResources) {
    const wanted = match[field]
    if (wanted !== undefined && !(info.isResourceRequest && info[field] === wanted)) return false
  }
  return (
    (match.verb === undefined || match.verb === info.verb) &&
    (match.user === undefined || match.user === user.name) &&
    (match.userAgent === undefined || (headers['user-agent'] ?? '').startsWith(match.userAgent))
  )
}

/** Kube-apiserver's reason and message for a code. */
const wordsOf: Readonly<
  Record<number, (info: RequestInfo, retryAfterSeconds?: number) => ApiError>
> = {
  409: ({ apiGroup: group, resource, name }) =>
    conflict({ group, resource }, name, modifiedMessage),
  429: (_info, retryAfterSeconds = 1) =>
    tooManyRequests('Too many requests, please try again later.', retryAfterSeconds),
  500: () => internalError('etcdserver: request timed out'),
  503: () => serviceUnavailable('the server is currently unable to handle the request'),
  504: () => timeout('request did not complete within the allotted timeout'),
}

const answerOf = (
  { code, reason, message, retryAfterSeconds }: FaultStatus,
  info: RequestInfo,
): ApiError => {
  const usual = wordsOf[code]?.(info, retryAfterSeconds).status
  const { apiGroup: group, resource, name } = info
  const details = usual === undefined ? resourceDetails({ group, resource }, name) : usual.details
  const said = reason ?? usual?.reason
  return failure({
    code,
    message: message ?? usual?.message ?? '',
    ...(said === undefined ? {} : { reason: said }),
    ...(retryAfterSeconds === undefined
      ? details && { details }
      : { details: { ...details, retryAfterSeconds } }),
  })
}

class Rule implements Fault {
  readonly id: string
  readonly rule: FaultRule
  readonly #remove: (rule: Rule) => void
  #matched = 0
  #seen = 0

  constructor(id: string, rule: FaultRule, remove: (rule: Rule) => void) {
    this.id = id
    this.rule = rule
    this.#remove = remove
  }

  get seen(): number {
    return this.#seen
  }
  remove(): void {
    this.#remove(this)
  }

  /** Whether this request fails by the rule. Counts it. */
  takes(request: FastifyRequest): boolean {
    const { match = {}, gone, afterEvents, after = 0, times = Number.POSITIVE_INFINITY } = this.rule
    const isOfWatches = gone !== undefined || afterEvents !== undefined
    if (isOfWatches && request.kube.info.verb !== 'watch') return false
    if (!fits(match, request)) return false
    this.#matched++
    if (this.#matched <= after || this.#seen >= times) return false
    this.#seen++
    return true
  }
}

const strike = (
  { status, cut, gone, afterEvents = 0 }: FaultRule,
  request: FastifyRequest,
  reply: FastifyReply,
): void => {
  const { kube } = request
  if (status !== undefined) throw answerOf(status, kube.info)
  if (cut === 'before') {
    reply.hijack()
    hangUp(request, reply)
  } else if (gone !== undefined) kube.watchEnd = { afterEvents }
  else if (cut === 'after' && kube.info.verb === 'watch')
    kube.watchEnd = { afterEvents, cut: () => hangUp(request, reply) }
  else if (cut === 'after') hangUpWhenAnswered(request, reply)
}

export class Faults implements FaultRules {
  #rules: readonly Rule[] = []
  #count = 0

  readonly filter: Filter = (request, reply) => {
    if (this.#rules.length === 0) return
    const { kube } = request
    if (kube.info.path.startsWith(ownPaths)) return
    const found = this.#rules.find((one) => one.takes(request))
    if (found === undefined) return
    kube.audit?.annotate('kubelevel/fault', found.id)
    const { delayMs } = found.rule
    if (delayMs === undefined) return strike(found.rule, request, reply)
    const { signal } = kube
    return sleep(delayMs, signal, { ref: false }).then(() => {
      // Aborted: it was answered by its deadline, or its client is gone.
      if (!signal.aborted) strike(found.rule, request, reply)
    })
  }

  add(rule: FaultRule): Fault {
    const checked = checkFaultRule(rule)
    if (this.#rules.length >= limits.faultRulesMax) {
      const count = this.#rules.length + 1
      throw invalid({ group: '', kind: 'FaultRule' }, '', [
        tooMany('faults', count, limits.faultRulesMax),
      ])
    }
    const added = new Rule(String(++this.#count), checked, (one) => {
      this.#rules = this.#rules.filter((other) => other !== one)
    })
    this.#rules = [...this.#rules, added]
    return added
  }

  list(): readonly Fault[] {
    return this.#rules
  }

  clear(): void {
    this.#rules = []
  }

  /** Throws 404. */
  find(id: string): Fault {
    const found = this.#rules.find((one) => one.id === id)
    if (found === undefined) throw notFound({ group: '', resource: 'faults' }, id)
    return found
  }
}
