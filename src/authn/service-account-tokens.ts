/** Signs and checks the JWTs of ServiceAccounts, in the form of upstream's pkg/serviceaccount. */

import type { JWTPayload } from 'jose'
import type { Clock } from '#api/clock.js'
import { legacyIssuer } from '#api/legacy-tokens.js'
import { serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import { goQuoteList } from '#go/quote.js'
import { limits } from '#limits'
import { privateKeyOf, publicKeysOf, type TokenKey } from '#net/token-keys.js'
import type { TokenNotes, Verified } from './authenticator.js'
import { boundUser, privateClaim, type ServiceAccountClaims } from './bound-token.js'
import { legacyUser } from './legacy-token.js'
import type { TokenReferences } from './token-references.js'
import { TokenUses } from './token-uses.js'

interface IssueRequest {
  /** Identifies the token in the audit log. */
  readonly id: string
  readonly claims: ServiceAccountClaims
  readonly audiences: readonly string[]
  readonly expiresInSeconds: number
}

interface ServiceAccountTokensOptions {
  /** The first one is used for new tokens; tokens of all are valid. */
  readonly issuers: readonly [string, ...string[]]
  /** Audiences of this API. */
  readonly audiences: readonly string[]
  readonly lifetime: {
    /** 0: no limit. */
    readonly maxSeconds: number
    /** Whether a Pod's token is valid for a year although less was asked for (WarnOnlyBoundTokenExpirationSeconds). */
    readonly extends: boolean
  }
  /** PEM of the private key that signs; asked for at first use. */
  readonly signingKeyPem: () => string
  /** Further ones that verify. */
  readonly verifyingKeys: readonly TokenKey[]
  readonly references: TokenReferences
  readonly clock: Clock
}

export class ServiceAccountTokens {
  readonly uses = new TokenUses()
  readonly #options: ServiceAccountTokensOptions
  #signing: TokenKey | undefined
  #verifying: readonly TokenKey[] | undefined

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options
  }

  get issuer(): string {
    return this.#options.issuers[0]
  }
  get audiences(): readonly string[] {
    return this.#options.audiences
  }

  get #signingKey(): TokenKey {
    this.#signing ??= privateKeyOf(this.#options.signingKeyPem())
    return this.#signing
  }

  get verifyingKeys(): readonly TokenKey[] {
    if (this.#verifying === undefined) {
      const own = publicKeysOf(this.#options.signingKeyPem())
      const all = [...own, ...this.#options.verifyingKeys]
      this.#verifying = [...new Map(all.map((key) => [key.id, key])).values()]
    }
    return this.#verifying
  }

  /** The lifetime of a token that is requested for this many seconds. */
  longest(seconds: number): number {
    const { maxSeconds } = this.#options.lifetime
    return maxSeconds > 0 ? Math.min(seconds, maxSeconds) : seconds
  }

  /** Old clients may never read their token again, so tokens with the lifetime that kubelets request are extended. */
  #isExtended({ claims, audiences, expiresInSeconds }: IssueRequest): boolean {
    const { lifetime, audiences: own } = this.#options
    return (
      lifetime.extends &&
      claims.pod !== undefined &&
      expiresInSeconds === limits.podTokenSeconds &&
      audiences.every((audience) => own.includes(audience))
    )
  }

  async issue(request: IssueRequest): Promise<string> {
    const { id: jti, claims, audiences, expiresInSeconds } = request
    const { SignJWT } = await import('jose')
    const { id, key, algorithm } = this.#signingKey
    const now = Math.floor(this.#options.clock.now() / 1000)
    const isExtended = this.#isExtended(request)
    const lifetime = isExtended ? limits.extendedTokenSeconds : expiresInSeconds
    const { namespace, serviceaccount, pod, secret, node } = claims
    // In the order in which Go writes them.
    return new SignJWT({
      aud: [...audiences],
      exp: now + lifetime,
      iat: now,
      iss: this.issuer,
      jti,
      [privateClaim]: {
        namespace,
        ...(node && { node }),
        ...(pod && { pod }),
        ...(secret && { secret }),
        serviceaccount,
        ...(isExtended && { warnafter: now + expiresInSeconds }),
      },
      nbf: now,
      sub: serviceAccountUsername(namespace, serviceaccount.name),
    })
      .setProtectedHeader({ alg: algorithm, kid: id })
      .sign(key)
  }

  /** Undefined: no token of ours. A text says why one that is does not hold, or for whom it is. */
  async verify(
    token: string,
    audiences: readonly string[],
    notes: TokenNotes,
  ): Promise<Verified | string | undefined> {
    const payload = await this.#payloadOf(token)
    if (typeof payload !== 'object') return payload
    const named = [payload.aud ?? []].flat()
    if (named.length === 0) {
      notes.annotate('authentication.k8s.io/legacy-token', payload.sub ?? '')
      this.uses.count('legacy_tokens')
    }
    const inToken = named.length === 0 ? this.audiences : named
    const common = audiences.filter((audience) => inToken.includes(audience))
    if (common.length === 0)
      return `token audiences ${goQuoteList(inToken)} is invalid for the target audiences ${goQuoteList(audiences)}`
    const user = await this.#userOf(payload, token, notes)
    return typeof user === 'string' ? user : { user, audiences: common }
  }

  #userOf(payload: JWTPayload, token: string, notes: TokenNotes): Promise<UserInfo | string> {
    const { references, clock } = this.#options
    const deps = { references, uses: this.uses, notes, now: clock.now() }
    return payload.iss === legacyIssuer
      ? legacyUser(payload, token, deps)
      : boundUser(payload, deps)
  }

  /** What a signature of ours stands for; a text where there is none, undefined where another issuer is named. */
  async #payloadOf(token: string): Promise<JWTPayload | string | undefined> {
    const claimed = claimedOf(token)
    if (claimed === undefined) return undefined
    const { header, payload } = claimed
    if (payload.iss !== legacyIssuer && !this.#options.issuers.includes(payload.iss ?? ''))
      return undefined
    const keys = this.verifyingKeys.filter(({ id }) => !header.kid || id === header.kid)
    if (keys.length === 0) return 'invalid signature, no keys found'
    const { compactVerify } = await import('jose')
    for (const { key, algorithm } of keys) {
      try {
        await compactVerify(token, key, { algorithms: [algorithm] })
      } catch {
        // Another key may fit.
        continue
      }
      return payload
    }
    return 'go-jose/go-jose: error in cryptographic primitive'
  }
}

interface Claimed {
  readonly header: { readonly kid?: string }
  readonly payload: JWTPayload
}

/** Not verified yet: nothing in it can be trusted. */
const claimedOf = (token: string): Claimed | undefined => {
  const parts = token.split('.')
  if (parts.length !== 3) return undefined
  try {
    const [header, payload] = parts
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    return isFields(header) && isFields(payload) ? { header, payload } : undefined
  } catch {
    return undefined
  }
}
const isFields = (value: unknown): boolean => typeof value === 'object' && value !== null
