/**
 * Tokens that a controller put into Secrets of type kubernetes.io/service-account-token: without an end and for no
 * audience but ours, they hold as long as their Secret does. Upstream: legacyValidator in pkg/serviceaccount.
 */
import type { JWTPayload } from 'jose'
import { serviceAccountGroups, serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import { sameSecret } from './same-secret.js'

export const legacyIssuer = 'kubernetes/serviceaccount'
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'

export interface TokenSecret {
  readonly labels: Readonly<Record<string, string>>
  /** What the Secret holds as its token. */
  readonly token: string
}

interface LegacyClaims {
  readonly namespace: string
  readonly secretName: string
  readonly account: { readonly name: string; readonly uid: string }
}

/** Undefined when a claim is missing or the subject is another account. */
export const legacyClaimsOf = (payload: JWTPayload): LegacyClaims | undefined => {
  const claim = (name: string): string => String(payload[`${legacyIssuer}/${name}`] ?? '')
  const namespace = claim('namespace')
  const name = claim('service-account.name')
  const uid = claim('service-account.uid')
  const secretName = claim('secret.name')
  if (!namespace || !name || !uid || !secretName) return undefined
  if (payload.sub !== serviceAccountUsername(namespace, name)) return undefined
  return { namespace, secretName, account: { name, uid } }
}

/** A Secret with another token, or one that was marked as too long unused, says that this token is over. */
export const holdsToken = (secret: TokenSecret | undefined, token: string): boolean => {
  if (secret === undefined || secret.labels[invalidSinceLabel]) return false
  return sameSecret(secret.token, token)
}

export const legacyUser = ({ namespace, account }: LegacyClaims): UserInfo => ({
  name: serviceAccountUsername(namespace, account.name),
  uid: account.uid,
  groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
})
