/**
 * Tokens that a controller put into Secrets of type kubernetes.io/service-account-token: without an end and for no
 * audience but ours, they hold as long as their Secret does. Upstream: legacyValidator in pkg/serviceaccount.
 */
import type { JWTPayload } from 'jose'
import type { Fields, KubeObject } from '#api/object.js'
import { serviceAccountGroups, serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import type { TokenNotes } from './authenticator.js'
import { sameSecret } from './same-secret.js'
import type { TokenReferences } from './token-references.js'
import type { TokenUses } from './token-uses.js'

export const legacyIssuer = 'kubernetes/serviceaccount'
const claimPrefix = 'kubernetes.io/serviceaccount'
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used'
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'
const annotationPrefix = 'authentication.k8s.io/legacy-token'
const dayMs = 24 * 3_600_000

interface LegacyClaims {
  readonly namespace: string
  readonly secretName: string
  readonly account: { readonly name: string; readonly uid: string }
}

/** A text says what is wrong with them. */
const claimsOf = (payload: JWTPayload): LegacyClaims | string => {
  const claim = (name: string): string => String(payload[`${claimPrefix}/${name}`] ?? '')
  const namespace = claim('namespace')
  const name = claim('service-account.name')
  const uid = claim('service-account.uid')
  const secretName = claim('secret.name')
  const missing = Object.entries({
    sub: payload.sub,
    namespace,
    secretName,
    serviceAccountName: name,
    serviceAccountUID: uid,
  }).find(([, value]) => !value)
  if (missing !== undefined) return `${missing[0]} claim is missing`
  if (payload.sub !== serviceAccountUsername(namespace, name)) return 'sub claim is invalid'
  return { namespace, secretName, account: { name, uid } }
}

const problemOfSecret = (secret: KubeObject | undefined, token: string): string | undefined => {
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
    return 'Token has been invalidated'
  const kept = Buffer.from(String(secret.data?.token ?? ''), 'base64').toString()
  return sameSecret(kept, token) ? undefined : "Token does not match server's copy"
}

const problemOfAccount = (
  account: KubeObject | undefined,
  { namespace, account: { name, uid } }: LegacyClaims,
): string | undefined => {
  if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`
  if (account.metadata.deletionTimestamp !== undefined)
    return `ServiceAccount ${namespace}/${name} has been deleted`
  return account.metadata.uid === uid
    ? undefined
    : `ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Once a day; another server may be ahead of us in that. A Secret that cannot be written costs nobody its token. */
const noteUse = async (secret: KubeObject, references: TokenReferences, now: number) => {
  const lastUsed = secret.metadata.labels?.[lastUsedLabel]
  if (lastUsed === dateOf(now) || lastUsed === dateOf(now + dayMs)) return
  await references.label(secret, { [lastUsedLabel]: dateOf(now) })
}

export interface LegacyDeps {
  readonly references: TokenReferences
  readonly uses: TokenUses
  readonly notes: TokenNotes
  readonly now: number
}

/** A text says why the token does not hold. */
export const legacyUser = async (
  payload: JWTPayload,
  token: string,
  { references, uses, notes, now }: LegacyDeps,
): Promise<UserInfo | string> => {
  const claims = claimsOf(payload)
  if (typeof claims === 'string') return claims
  const { namespace, secretName, account: named } = claims
  const secret = await references.find('secrets', namespace, secretName)
  const ofSecret = problemOfSecret(secret, token)
  if (secret === undefined || ofSecret !== undefined) return ofSecret!
  const account = await references.find('serviceaccounts', namespace, named.name)
  const ofAccount = problemOfAccount(account, claims)
  if (ofAccount !== undefined) return ofAccount
  if (secret.metadata.labels?.[invalidSinceLabel]) {
    notes.annotate(`${annotationPrefix}-invalidated`, `${secretName}/${namespace}`)
    uses.count('invalid_legacy_auto_token_uses')
    await noteUse(secret, references, now)
    return `the token in secret ${namespace}/${secretName} for service account ${namespace}/${named.name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSinceLabel}' label from the secret to temporarily allow use of this token`
  }
  const listed = (account!.secrets ?? []) as readonly Fields[]
  if (listed.some(({ name }) => name === secretName)) {
    notes.warn(
      'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
    )
    notes.annotate(`${annotationPrefix}-autogenerated-secret`, secretName)
    uses.count('legacy_auto_token_uses')
  } else {
    notes.annotate(`${annotationPrefix}-manual-secret`, secretName)
    uses.count('legacy_manual_token_uses')
  }
  await noteUse(secret, references, now)
  return {
    name: serviceAccountUsername(namespace, named.name),
    uid: named.uid,
    groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
  }
}
