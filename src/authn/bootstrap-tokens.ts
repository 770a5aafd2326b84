/**
 * Tokens with which new nodes join, kept in Secrets of kube-system that are named for their first half
 * (kubernetes, plugin/pkg/auth/authenticator/token/bootstrap).
 */
import type { Clock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { parseTimestamp } from '#cel/times.js'
import { type TokenAuthenticator, withAuthenticatedGroup } from './authenticator.js'
import { sameSecret } from './same-secret.js'

interface BootstrapTokensOptions {
  /** Reads a Secret of kube-system; undefined if there is none of that name. */
  secret(name: string): Promise<KubeObject | undefined>
  readonly clock: Clock
}

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/

/** Undefined if one of them is not a bootstrap group. */
const groupsOf = (extra: string): readonly string[] | undefined => {
  const named = extra === '' ? [] : extra.split(',')
  if (!named.every((group) => groupForm.test(group))) return undefined
  return [...new Set(['system:bootstrappers', ...named])].sort()
}

/** An unreadable time counts as expired. */
const isOver = (end: string, now: number): boolean => {
  const nanos = parseTimestamp(end)?.nanos ?? 0n
  return end !== '' && nanos <= BigInt(now) * 1_000_000n
}

export const bootstrapTokens =
  ({ secret: find, clock }: BootstrapTokensOptions): TokenAuthenticator =>
  async (token) => {
    const [, id, shown] = form.exec(token) ?? []
    if (id === undefined || shown === undefined) return undefined
    const secret = await find(`bootstrap-token-${id}`)
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined
    if (secret.type !== 'bootstrap.kubernetes.io/token') return undefined
    const text = (key: string): string =>
      Buffer.from(String(secret.data?.[key] ?? ''), 'base64').toString()
    if (!sameSecret(text('token-secret'), shown) || text('token-id') !== id) return undefined
    if (isOver(text('expiration'), clock.now())) return undefined
    if (text('usage-bootstrap-authentication') !== 'true') return undefined
    const groups = groupsOf(text('auth-extra-groups'))
    return groups && withAuthenticatedGroup({ name: `system:bootstrap:${id}`, groups })
  }
