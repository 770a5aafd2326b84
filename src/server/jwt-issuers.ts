/** Issuers of JWTs as the options name them (kubernetes, pkg/kubeapiserver/options/authentication.go). */
import { readFileSync } from 'node:fs'
import type { Clock } from '#api/clock.js'
import { aggregateMessage } from '#api/errors.js'
import type { UserInfo } from '#api/user-info.js'
import { compileJwtRules, type JwtConfiguration } from '#authn/jwt/configuration.js'
import { DistributedClaims } from '#authn/jwt/distributed-claims.js'
import { Issuer } from '#authn/jwt/issuer.js'
import { jwtTokens } from '#authn/jwt/jwt-tokens.js'
import type { OidcOptions } from './options.js'
import type { StartedParts } from './started-parts.js'

interface JwtIssuers {
  readonly jwt: readonly JwtConfiguration[]
  /** With which tokens may be signed. */
  readonly algorithms: readonly string[]
}

const allAlgorithms = 'ES256 ES384 ES512 PS256 PS384 PS512 RS256 RS384 RS512'.split(' ')

const prefixOf = ({ usernamePrefix = '', usernameClaim, issuerUrl }: OidcOptions): string => {
  if (usernamePrefix === '' && usernameClaim !== 'email') return `${issuerUrl}#`
  return usernamePrefix === '-' ? '' : usernamePrefix
}

/** Throws an Error where a file or an algorithm cannot be used. */
export const issuersOf = (oidc: OidcOptions): JwtIssuers => {
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

/** Throws an Error that says what is wrong with them. */
export const startIssuers = (
  { jwt, algorithms }: JwtIssuers,
  deps: {
    clock: Clock
    warn: (message: string, error: unknown) => void
    /** Who may not be an issuer. */
    disallowed: readonly string[]
  },
  started: StartedParts,
): ((token: string) => Promise<UserInfo | string | undefined>) => {
  const { clock, warn, disallowed } = deps
  const { rules, errors } = compileJwtRules(jwt, disallowed)
  if (errors.length > 0) throw new Error(aggregateMessage(errors))
  const known = rules.map((one) => {
    const { url, ...trusted } = one.configuration.issuer
    const shared = { ...trusted, algorithms, clock, warn }
    const issuer = new Issuer({ url, ...shared })
    const distributed = new DistributedClaims({ ...shared, discoveryURL: undefined })
    started.defer(async () => {
      issuer.close()
      distributed.close()
    })
    issuer.start()
    return { issuer, rules: one, distributed }
  })
  return jwtTokens(known)
}
