/** Authorizes by a webhook (apiserver, plugin/pkg/authorizer/webhook). */
import type { Clock } from '#api/clock.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { AskReview } from '#webhook/review-answer.js'
import { type Attributes, type Authorizer, type Decision, noOpinion } from './authorizer.js'
import { conditionsHold, type MatchCondition } from './match-conditions.js'
import { type ReviewSpec, reviewSpecOf } from './review-spec.js'
import type { RuleResolver } from './rule-resolver.js'

interface WebhookAuthorizerOptions {
  readonly ask: AskReview
  /** Version of the SubjectAccessReviews. */
  readonly version: string
  /** How long an answer is kept; 0: not at all. */
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  /** The decision if the call fails. */
  readonly onError: 'deny' | 'no opinion'
  /** The webhook is called only if all of them hold. */
  readonly matchConditions: readonly MatchCondition[]
  readonly clock: Clock
}

interface ReviewStatus {
  readonly allowed?: boolean
  readonly denied?: boolean
  readonly reason?: string
}

const group = 'authorization.k8s.io'

/** Clients choose these texts, so answers for long ones are not kept. */
const isKept = (a: Attributes): boolean => {
  const chosen = [a.namespace, a.verb, a.apiGroup, a.apiVersion, a.resource, a.subresource]
  const length = [...chosen, a.name, a.path].reduce((sum, text) => sum + text.length, 0)
  return length < limits.authorizationKeptLengthMax
}

/** v1beta1 names the field of groups differently. */
const sentSpec = (spec: ReviewSpec, version: string): JsonObject => {
  const { groups, extra, uid, ...rest } = spec
  const named = version === 'v1' ? { groups } : { group: groups }
  return {
    ...rest,
    ...(groups && named),
    ...(extra && { extra }),
    ...(uid && { uid }),
  } as JsonObject
}

const decisionOf = ({ allowed, denied, reason = '' }: ReviewStatus): Decision => {
  if (denied && allowed)
    return {
      decision: 'deny',
      reason,
      errors: ['webhook subject access review returned both allow and deny response'],
    }
  if (denied) return { decision: 'deny', reason }
  return { decision: allowed ? 'allow' : 'no opinion', reason }
}

export const webhookAuthorizer = (options: WebhookAuthorizerOptions): Authorizer & RuleResolver => {
  const { ask, version, authorizedTtlMs, unauthorizedTtlMs, onError, matchConditions } = options
  const known = new ExpiringCache<Decision>(limits.authorizationsKept)
  const failed = (errors: readonly string[]): Decision => ({
    decision: onError,
    reason: '',
    errors,
  })

  const review = async (key: string, spec: ReviewSpec, a: Attributes): Promise<Decision> => {
    const body = {
      kind: 'SubjectAccessReview',
      apiVersion: `${group}/${version}`,
      metadata: {},
      spec: sentSpec(spec, version),
      status: { allowed: false },
    }
    let status: ReviewStatus
    try {
      const answer = await ask({ group, kind: 'SubjectAccessReview', review: body })
      status = (answer.status ?? {}) as ReviewStatus
    } catch (error) {
      return failed([(error as Error).message])
    }
    const decision = decisionOf(status)
    const ttlMs = status.allowed ? authorizedTtlMs : unauthorizedTtlMs
    if (ttlMs > 0 && isKept(a)) known.set(key, decision, options.clock.now() + ttlMs)
    return decision
  }

  return {
    authorize: (a) => {
      const spec = reviewSpecOf(a)
      const hold = matchConditions.length === 0 || conditionsHold(matchConditions, spec)
      if (hold === false) return noOpinion
      if (hold !== true) return failed(hold)
      const key = JSON.stringify(spec)
      return known.get(key, options.clock.now()) ?? review(key, spec, a)
    },
    rulesFor: () => ({
      rules: [],
      errors: [new Error('webhook authorizer does not support user rule resolution')],
      isIncomplete: true,
    }),
  }
}
