/** Flags of authentication, with kube-apiserver's names and defaults. */
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import type { ServerOptions } from '#server/options.js'
import { existingFile, oneOf } from './flag-checks.js'

export const authenticationFlags: readonly Flag[] = [
  {
    name: 'token-auth-file',
    type: 'string',
    check: existingFile,
    help: 'CSV of bearer tokens: token,user,uid,"group,group"',
  },
  {
    name: 'anonymous-auth',
    type: 'boolean',
    default: 'true',
    help: 'let requests without credentials through as system:anonymous',
  },
  {
    name: 'enable-bootstrap-token-auth',
    type: 'boolean',
    default: 'false',
    help: 'accept tokens in Secrets of type bootstrap.kubernetes.io/token',
  },
  {
    name: 'authentication-config',
    type: 'string',
    help: 'file with an AuthenticationConfiguration: issuers of JWTs, and paths for anonymous requests',
  },
  {
    name: 'oidc-issuer-url',
    type: 'string',
    help: 'OpenID Connect provider whose ID tokens authenticate',
  },
  { name: 'oidc-client-id', type: 'string', help: 'audience that its tokens must have' },
  {
    name: 'oidc-ca-file',
    type: 'string',
    check: existingFile,
    help: 'CA of the provider (default: the CAs that Node trusts)',
  },
  {
    name: 'oidc-username-claim',
    type: 'string',
    default: 'sub',
    help: 'claim that names the user',
  },
  {
    name: 'oidc-username-prefix',
    type: 'string',
    help: 'prefix of user names; - means none (default: the issuer and #, or none for the claim email)',
  },
  { name: 'oidc-groups-claim', type: 'string', help: "claim with the user's groups" },
  { name: 'oidc-groups-prefix', type: 'string', help: 'prefix of group names' },
  {
    name: 'oidc-signing-algs',
    type: 'strings',
    default: 'RS256',
    help: 'algorithms that tokens may be signed with',
  },
  {
    name: 'oidc-required-claim',
    type: 'strings',
    check: (value) => (value === '' || value.includes('=') ? undefined : 'must be claim=value'),
    help: 'claim=value pairs that tokens must have',
  },
  {
    name: 'authentication-token-webhook-config-file',
    type: 'string',
    check: existingFile,
    help: 'kubeconfig of a webhook that authenticates bearer tokens',
  },
  {
    name: 'authentication-token-webhook-version',
    type: 'string',
    default: 'v1beta1',
    check: oneOf(['v1', 'v1beta1']),
    help: 'version of the TokenReviews sent to it',
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    type: 'duration',
    default: '2m0s',
    help: 'how long its answers are cached',
  },
  {
    name: 'service-account-issuer',
    type: 'strings',
    default: 'https://kubernetes.default.svc',
    help: 'issuer of ServiceAccount tokens; tokens of further issuers named here are accepted as well',
  },
  {
    name: 'service-account-key-file',
    type: 'strings',
    check: existingFile,
    help: 'PEM keys that verify ServiceAccount tokens',
  },
  {
    name: 'service-account-signing-key-file',
    type: 'string',
    check: existingFile,
    help: 'PEM key that signs ServiceAccount tokens',
  },
  {
    name: 'service-account-jwks-uri',
    type: 'string',
    check: (value) =>
      value === '' || value.startsWith('https://')
        ? undefined
        : `service-account-jwks-uri requires https scheme, parsed as: ${value}`,
    help: "https URL published for the keys of ServiceAccount tokens (default: this server's)",
  },
  {
    name: 'service-account-max-token-expiration',
    type: 'duration',
    default: '0s',
    help: 'longest lifetime of a ServiceAccount token; 0 means no limit',
  },
  {
    name: 'service-account-extend-token-expiration',
    type: 'boolean',
    default: 'true',
    help: 'extend tokens that kubelets request for Pods to a year',
  },
  { name: 'api-audiences', type: 'strings', help: 'audiences of this API (default: the issuers)' },
]

const longestTokenOf = (flags: Flags): number | undefined => {
  const ms = flags.milliseconds('service-account-max-token-expiration')!
  if (ms !== 0 && (ms < 3_600_000 || ms > 2 ** 32 * 1000))
    throw new UsageError(
      'the service-account-max-token-expiration must be between 1 hour and 2^32 seconds',
    )
  return ms || undefined
}

const requiredClaimsOf = (flags: Flags): Record<string, string> =>
  Object.fromEntries(
    (flags.list('oidc-required-claim') ?? []).map((text) => {
      const at = text.indexOf('=')
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    }),
  )

const oidcFlags = authenticationFlags.filter(({ name }) => name.startsWith('oidc-'))

const oidcOf = (flags: Flags): ServerOptions['oidc'] => {
  const issuerUrl = flags.text('oidc-issuer-url') ?? ''
  const clientId = flags.text('oidc-client-id') ?? ''
  if (!oidcFlags.some(({ name }) => flags.isGiven(name))) return undefined
  if (issuerUrl === '' || clientId === '')
    throw new UsageError(
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    )
  return {
    issuerUrl,
    clientId,
    caFile: flags.text('oidc-ca-file'),
    usernameClaim: flags.text('oidc-username-claim'),
    usernamePrefix: flags.text('oidc-username-prefix'),
    groupsClaim: flags.text('oidc-groups-claim'),
    groupsPrefix: flags.text('oidc-groups-prefix'),
    signingAlgs: flags.list('oidc-signing-algs'),
    requiredClaims: requiredClaimsOf(flags),
  }
}

const webhookOf = (flags: Flags): ServerOptions['authenticationTokenWebhook'] => {
  const configFile = flags.text('authentication-token-webhook-config-file')
  return configFile === undefined
    ? undefined
    : {
        configFile,
        version: flags.text('authentication-token-webhook-version') as 'v1' | 'v1beta1',
        cacheTtlMs: flags.milliseconds('authentication-token-webhook-cache-ttl')!,
      }
}

/** Throws a UsageError for flags that do not go together. */
export const authenticationOptionsOf = (flags: Flags): ServerOptions => ({
  tokenAuthFile: flags.text('token-auth-file'),
  serviceAccountJwksUri: flags.text('service-account-jwks-uri') || undefined,
  anonymousAuth: flags.isGiven('anonymous-auth') ? flags.boolean('anonymous-auth') : undefined,
  enableBootstrapTokenAuth: flags.boolean('enable-bootstrap-token-auth'),
  authenticationConfigFile: flags.text('authentication-config'),
  oidc: oidcOf(flags),
  authenticationTokenWebhook: webhookOf(flags),
  serviceAccountIssuer: flags.list('service-account-issuer'),
  serviceAccountKeyFiles: flags.list('service-account-key-file'),
  serviceAccountSigningKeyFile: flags.text('service-account-signing-key-file'),
  serviceAccountMaxTokenExpirationMs: longestTokenOf(flags),
  serviceAccountExtendTokenExpiration: flags.boolean('service-account-extend-token-expiration'),
  apiAudiences: flags.list('api-audiences'),
})
