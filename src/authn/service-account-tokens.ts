/** Signs and checks the JWTs of ServiceAccounts, in the form of upstream's pkg/serviceaccount. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { Clock } from '#api/clock.js'
import { serviceAccountGroups, serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import { limits } from '#limits'
import type { Verified } from './authenticator.js'
import {
  holdsToken,
  legacyClaimsOf,
  legacyIssuer,
  legacyUser,
  type TokenSecret,
} from './legacy-token.js'

export interface BoundReference {
  readonly name: string
  readonly uid: string
}

/** Of a Pod whose Node is not there, the name alone is known. */
export type NodeReference = Pick<BoundReference, 'name'> & Partial<BoundReference>

/** What a token says beside the standard claims. */
interface ServiceAccountClaims {
  readonly namespace: string
  readonly serviceaccount: BoundReference
  readonly pod?: BoundReference
  readonly secret?: BoundReference
  readonly node?: NodeReference
}

interface IssueRequest {
  /** By which the token is known in the audit log. */
  readonly id: string
  readonly claims: ServiceAccountClaims
  readonly audiences: readonly string[]
  readonly expiresInSeconds: number
}

/** Tells whether what a token is bound to still exists; `uid` must be that of the living object. */
interface ReferenceReader {
  exists(
    resource: 'serviceaccounts' | 'pods' | 'secrets' | 'nodes',
    namespace: string,
    reference: NodeReference,
  ): Promise<boolean>
  /** Undefined when there is none, or it is being deleted. */
  tokenSecret(namespace: string, name: string): Promise<TokenSecret | undefined>
}

interface ServiceAccountTokensOptions {
  /** The first signs; tokens of all of them hold. */
  readonly issuers: readonly [string, ...string[]]
  /** Audiences of this API. */
  readonly audiences: readonly string[]
  readonly lifetime: {
    /** 0: as long as is asked for. */
    readonly maxSeconds: number
    /** Whether a Pod's token goes on for a year behind the time that was asked for (WarnOnlyBoundTokenExpirationSeconds). */
    readonly extends: boolean
  }
  /** PEM of the private key that signs; asked for at first use. */
  readonly signingKeyPem: () => string
  /** PEM of further keys, public or private, that verify. */
  readonly verifyingKeyPems: readonly string[]
  readonly references: ReferenceReader
  readonly clock: Clock
}

const privateClaim = 'kubernetes.io'
const extraPrefix = 'authentication.kubernetes.io/'

interface Key {
  readonly id: string
  readonly key: KeyObject
  readonly algorithm: 'RS256' | 'ES256'
}

const keyOf = (key: KeyObject): Key => {
  const der = key.export({ type: 'spki', format: 'der' })
  return {
    id: createHash('sha256').update(der).digest('base64url'),
    key,
    algorithm: key.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256',
  }
}

const publicKeyOf = (pem: string): Key => keyOf(createPublicKey(pem))

export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions
  #signing: Key | undefined
  #verifying: readonly Key[] | undefined
  /** Payloads whose signature held, by token; the references are looked at each time. */
  readonly #verified = new Map<string, JWTPayload>()

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options
  }

  get issuer(): string {
    return this.#options.issuers[0]
  }
  get audiences(): readonly string[] {
    return this.#options.audiences
  }

  get #signingKey(): Key {
    if (this.#signing === undefined) {
      const key = createPrivateKey(this.#options.signingKeyPem())
      this.#signing = { ...keyOf(createPublicKey(key)), key }
    }
    return this.#signing
  }

  get verifyingKeys(): readonly Key[] {
    this.#verifying ??= [
      ...new Map(
        [this.#options.signingKeyPem(), ...this.#options.verifyingKeyPems]
          .map(publicKeyOf)
          .map((key) => [key.id, key]),
      ).values(),
    ]
    return this.#verifying
  }

  /** For how long a token is given out that is asked for so many seconds. */
  longest(seconds: number): number {
    const { maxSeconds } = this.#options.lifetime
    return maxSeconds > 0 ? Math.min(seconds, maxSeconds) : seconds
  }

  /** Clients that once got tokens without an end may never read theirs again: a kubelet asks for this very time. */
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

  /**
   * Undefined: no token of ours, or one that does not hold. A string is what a TokenReview tells of one that is good
   * for other audiences.
   */
  async verify(
    token: string,
    audiences: readonly string[],
  ): Promise<Verified | string | undefined> {
    if (token.split('.').length !== 3) return undefined
    const payload = await this.#payloadOf(token)
    if (payload === undefined) return undefined
    const isLegacy = payload.iss === legacyIssuer
    const inToken = isLegacy ? this.#options.audiences : [payload.aud ?? []].flat()
    const common = audiences.filter((audience) => inToken.includes(audience))
    if (common.length === 0)
      return `token audiences ${quoted(inToken)} is invalid for the target audiences ${quoted(audiences)}`
    const user = await (isLegacy ? this.#legacyUserOf(payload, token) : this.#userOf(payload))
    return user === undefined ? undefined : { user, audiences: common }
  }

  async #payloadOf(token: string): Promise<JWTPayload | undefined> {
    const known = this.#verified.get(token)
    const nowSeconds = this.#options.clock.now() / 1000
    if (known !== undefined) {
      if ((known.exp ?? Number.POSITIVE_INFINITY) > nowSeconds) return known
      this.#verified.delete(token)
      return undefined
    }
    const { jwtVerify } = await import('jose')
    for (const { key, algorithm } of this.verifyingKeys) {
      try {
        const { payload } = await jwtVerify(token, key, {
          issuer: [...this.#options.issuers, legacyIssuer],
          algorithms: [algorithm],
          currentDate: new Date(this.#options.clock.now()),
          requiredClaims: ['sub'],
        })
        // Only a Secret may hold a token without an end.
        if (payload.iss !== legacyIssuer && payload.exp === undefined) return undefined
        if (this.#verified.size >= limits.verifiedTokensKept)
          this.#verified.delete(this.#verified.keys().next().value!)
        this.#verified.set(token, payload)
        return payload
      } catch {
        // Another key may fit; a token that none fits is nobody's.
      }
    }
    return undefined
  }

  async #legacyUserOf(payload: JWTPayload, token: string): Promise<UserInfo | undefined> {
    const claims = legacyClaimsOf(payload)
    if (claims === undefined) return undefined
    const { namespace, secretName, account } = claims
    const { references } = this.#options
    if (!holdsToken(await references.tokenSecret(namespace, secretName), token)) return undefined
    if (!(await references.exists('serviceaccounts', namespace, account))) return undefined
    return legacyUser(claims)
  }

  /** Undefined when the account, or what the token is bound to, is gone or is another one of that name. */
  async #userOf(payload: JWTPayload): Promise<UserInfo | undefined> {
    const claims = payload[privateClaim] as ServiceAccountClaims | undefined
    if (claims?.serviceaccount === undefined) return undefined
    const { namespace, serviceaccount, pod, secret, node } = claims
    const { references } = this.#options
    if (!(await references.exists('serviceaccounts', namespace, serviceaccount))) return undefined
    if (pod !== undefined && !(await references.exists('pods', namespace, pod))) return undefined
    if (secret !== undefined && !(await references.exists('secrets', namespace, secret)))
      return undefined
    if (node !== undefined && pod === undefined && !(await references.exists('nodes', '', node)))
      return undefined
    const bound = (kind: string, reference: NodeReference | undefined) => ({
      ...(reference && { [`${extraPrefix}${kind}-name`]: [reference.name] }),
      ...(reference?.uid && { [`${extraPrefix}${kind}-uid`]: [reference.uid] }),
    })
    return {
      name: serviceAccountUsername(namespace, serviceaccount.name),
      uid: serviceaccount.uid,
      groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
      extra: {
        [`${extraPrefix}credential-id`]: [`JTI=${payload.jti}`],
        ...bound('node', node),
        ...bound('pod', pod),
      },
    }
  }
}

const quoted = (list: readonly string[]): string =>
  `[${list.map((item) => JSON.stringify(item)).join(' ')}]`
