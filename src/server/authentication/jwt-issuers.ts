/** Issuers of JWTs as the options name them (kubernetes, pkg/kubeapiserver/options/authentication.go). */
import { readFileSync } from 'node:fs'
import type { Clock } from '#api/clock.js'
import { aggregateMessage } from '#api/errors.js'
import { type FieldError, invalid } from '#api/field-error.js'
import type { UserInfo } from '#api/user-info.js'
import { compileJwtRules, type JwtConfiguration } from '#authn/jwt/configuration.js'
import { DistributedClaims } from '#authn/jwt/distributed-claims.js'
import { Issuer } from '#authn/jwt/issuer.js'
import { jwtTokens, type KnownIssuer } from '#authn/jwt/jwt-tokens.js'
import { NotYetUsable } from '../follow-file.js'
import type { OidcOptions } from '../options.js'

interface NamedIssuers {
  readonly jwt: readonly JwtConfiguration[]
  /** Algorithms that tokens may be signed with. */
  readonly algorithms: readonly string[]
}

export const allAlgorithms = 'ES256 ES384 ES512 PS256 PS384 PS512 RS256 RS384 RS512'.split(' ')

const prefixOf = ({ usernamePrefix = '', usernameClaim, issuerUrl }: OidcOptions): string => {
  if (usernamePrefix === '' && usernameClaim !== 'email') return `${issuerUrl}#`
  return usernamePrefix === '-' ? '' : usernamePrefix
}

/** Throws an Error where a file or an algorithm cannot be used. */
export const issuersOf = (oidc: OidcOptions): NamedIssuers => {
  const { signingAlgs = ['RS256'], groupsClaim, groupsPrefix = '', caFile } = oidc
  const unknown = signingAlgs.find((algorithm) => !allAlgorithms.includes(algorithm))
  if (unknown !== undefined) throw new Error(`oidc: unsupported signing alg: "${unknown}"`)
  const required = Object.entries(oidc.requiredClaims ?? {})
  return {
    algorithms: signingAlgs,
    jwt: [
      {
        issuer: {
          url: oidc.issuerUrl,
          audiences: [oidc.clientId],
          ...(caFile && { certificateAuthority: readFileSync(caFile, 'utf8') }),
        },
        claimMappings: {
          username: { claim: oidc.usernameClaim ?? 'sub', prefix: prefixOf(oidc) },
          ...(groupsClaim && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
        },
        claimValidationRules: required.map(([claim, requiredValue]) => ({ claim, requiredValue })),
      },
    ],
  }
}

interface JwtIssuerDeps {
  readonly clock: Clock
  readonly warn: (message: string, error?: unknown) => void
  /** Who may not be an issuer. */
  readonly disallowed: readonly string[]
}

/** The issuers in use, their keys and the users of their tokens. `replace` exchanges them. */
export class JwtIssuers {
  readonly #deps: JwtIssuerDeps
  #known: readonly KnownIssuer[] = []
  /** Those that are to take their place. */
  #coming: readonly KnownIssuer[] = []
  #authenticate = jwtTokens([])

  /** Throws an Error that says what is wrong with them. */
  constructor(named: NamedIssuers, deps: JwtIssuerDeps) {
    this.#deps = deps
    const known = this.#make(named)
    for (const { issuer } of known) issuer.start()
    this.#take(known)
  }

  readonly authenticate = (token: string): Promise<UserInfo | string | undefined> =>
    this.#authenticate(token)

  /**
   * Takes effect once the keys of all new issuers have been read. Rejects if that fails, with NotYetUsable where one does not
   * answer; the former issuers stay then.
   */
  async replace(named: NamedIssuers): Promise<void> {
    const known = this.#make(named)
    this.#coming = known
    await Promise.all(known.map(({ issuer }) => issuer.start()))
    const missing = known.find(({ issuer }) => !issuer.isKnown)
    if (missing !== undefined) {
      closeAll(known)
      throw new NotYetUsable(`issuer ${missing.rules.configuration.issuer.url} does not answer`)
    }
    closeAll(this.#known)
    this.#take(known)
  }

  /** A `replace` under way is given up. */
  close(): void {
    closeAll([...this.#known, ...this.#coming])
  }

  #take(known: readonly KnownIssuer[]): void {
    this.#known = known
    this.#authenticate = jwtTokens(known)
  }

  #make({ jwt, algorithms }: NamedIssuers): readonly KnownIssuer[] {
    const { clock, warn, disallowed } = this.#deps
    const { rules, errors } = compileJwtRules(jwt)
    if (errors.length > 0)
      throw new Error(`invalid authentication configuration: ${aggregateMessage(errors)}`)
    return rules.map((one) => {
      const { url, audiences, ...trusted } = one.configuration.issuer
      if (disallowed.includes(url)) throw new Error(aggregateMessage([overlap(url, disallowed)]))
      const shared = { ...trusted, audiences: audiences!, algorithms, clock, warn }
      const distributed = new DistributedClaims({ ...shared, discoveryURL: undefined })
      return { issuer: new Issuer({ url, ...shared }), rules: one, distributed }
    })
  }
}

const overlap = (url: string, disallowed: readonly string[]): FieldError => {
  const listed = `[${[...disallowed].sort().join(' ')}]`
  return invalid('issuer.url', url, `URL must not overlap with disallowed issuers: ${listed}`)
}

const closeAll = (known: readonly KnownIssuer[]): void => {
  for (const { issuer, distributed } of known) {
    issuer.close()
    distributed.close()
  }
}
