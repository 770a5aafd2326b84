/** Authenticates bearer tokens by a webhook (apiserver, plugin/pkg/authenticator/token/webhook). */
import { createHash } from 'node:crypto'
import type { Clock } from '#api/clock.js'
import type { UserInfo } from '#api/user-info.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { limits } from '#limits'
import type { AskReview } from '#webhook/review-answer.js'
import { type TokenVerifier, type Verified, withAuthenticatedGroup } from './authenticator.js'

interface WebhookTokensOptions {
  readonly ask: AskReview
  /** Version of the TokenReviews. */
  readonly version: string
  /** The audiences of a token if the answer has none. */
  readonly audiences: readonly string[]
  /** How long an answer is kept, positive or negative. */
  readonly cacheTtlMs: number
  readonly clock: Clock
}

interface ReviewStatus {
  readonly authenticated?: boolean
  readonly user?: {
    readonly username?: string
    readonly uid?: string
    readonly groups?: string[]
    readonly extra?: Record<string, string[]>
  }
  readonly audiences?: string[]
  readonly error?: string
}

const group = 'authentication.k8s.io'

const userOf = ({ username = '', uid, groups = [], extra }: NonNullable<ReviewStatus['user']>) => {
  const user: UserInfo = { name: username, groups, ...(uid && { uid }), ...(extra && { extra }) }
  return withAuthenticatedGroup(user)
}

export const webhookTokens = (options: WebhookTokensOptions): TokenVerifier => {
  const { ask, version, clock, cacheTtlMs } = options
  const known = new ExpiringCache<Verified | 'nobody'>(limits.verifiedTokensKept)
  const asked = new Map<string, ReturnType<TokenVerifier>>()

  const review = async (token: string, audiences: readonly string[]) => {
    const apiVersion = `${group}/${version}`
    const spec = { token, audiences: [...audiences] }
    const body = { kind: 'TokenReview', apiVersion, metadata: {}, spec, status: { user: {} } }
    const answer = await ask({ group, kind: 'TokenReview', review: body })
    const status = (answer.status ?? {}) as ReviewStatus
    const goodFor = status.audiences?.length ? status.audiences : options.audiences
    const common = goodFor.filter((audience) => audiences.includes(audience))
    if (common.length === 0) return undefined
    if (status.authenticated) return { user: userOf(status.user ?? {}), audiences: common }
    return status.error || undefined
  }

  /** Errors, also those in the webhook's answer, are not kept. */
  const reviewAndKeep = async (key: string, token: string, audiences: readonly string[]) => {
    try {
      const verified = await review(token, audiences)
      if (typeof verified !== 'string')
        known.set(key, verified ?? 'nobody', clock.now() + cacheTtlMs)
      return verified
    } catch (error) {
      return (error as Error).message
    } finally {
      asked.delete(key)
    }
  }

  return async (token, audiences) => {
    const digest = createHash('sha256').update(token).digest('base64')
    const key = JSON.stringify([digest, ...audiences])
    const verified = known.get(key, clock.now())
    if (verified !== undefined) return verified === 'nobody' ? undefined : verified
    let answer = asked.get(key)
    if (answer === undefined) asked.set(key, (answer = reviewAndKeep(key, token, audiences)))
    return answer
  }
}
