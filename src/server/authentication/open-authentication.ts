/**
 * Issuers of JWTs and rules for anonymous requests, from a file or the options (kubernetes,
 * pkg/kubeapiserver/options/authentication.go).
 */
import type { Clock } from '#api/clock.js'
import { aggregateMessage } from '#api/errors.js'
import { forbidden, invalid } from '#api/field-error.js'
import type { UserInfo } from '#api/user-info.js'
import { jsonEqual } from '#json/object.js'
import { followFile } from '../follow-file.js'
import type { ServerOptions } from '../options.js'
import type { StartedParts } from '../started-parts.js'
import { serviceAccountIssuers } from './bearer-tokens.js'
import type { AnonymousConfiguration } from './configuration.js'

export interface AuthenticationDeps {
  readonly clock: Clock
  readonly warn: (message: string, error?: unknown) => void
}

interface Authentication {
  /** The user of a JWT of another issuer; undefined if no issuer is configured. */
  readonly jwt: ((token: string) => Promise<UserInfo | string | undefined>) | undefined
  readonly allowsAnonymous: (path: string) => boolean
}

/** With AlwaysAllow there are no anonymous requests (pkg/kubeapiserver/options, ApplyAuthorization). */
const anonymousByOptions = ({
  anonymousAuth = true,
  authorizationModes,
}: ServerOptions): Authentication['allowsAnonymous'] => {
  const isAllowed = anonymousAuth && authorizationModes?.includes('AlwaysAllow') !== true
  return () => isAllowed
}

/** Throws an Error if the options and the file contradict each other. */
const anonymousBy = (
  configuration: AnonymousConfiguration | undefined,
  options: ServerOptions,
): Authentication['allowsAnonymous'] => {
  if (configuration === undefined) return anonymousByOptions(options)
  if (options.anonymousAuth !== undefined)
    throw new Error(
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    )
  const { enabled, conditions = [] } = configuration
  if (!enabled && conditions.length > 0)
    throw wrongConfiguration(
      invalid(
        'anonymous.conditions',
        conditions.map(({ path }) => ({ Path: path })),
        'enabled should be set to true when conditions are defined',
      ),
    )
  const paths = new Set(conditions.map(({ path }) => path))
  return (path) => enabled && (paths.size === 0 || paths.has(path))
}

const wrongConfiguration = (...errors: Parameters<typeof aggregateMessage>[0]): Error =>
  new Error(`invalid authentication configuration: ${aggregateMessage(errors)}`)

const openFile = async (
  file: string,
  options: ServerOptions,
  { deps, started }: { deps: AuthenticationDeps; started: StartedParts },
): Promise<Authentication> => {
  const { decodeAuthentication, readAuthenticationConfiguration } = await import(
    './configuration.js'
  )
  const { allAlgorithms: algorithms, JwtIssuers } = await import('./jwt-issuers.js')
  const { text, configuration } = readAuthenticationConfiguration(file)
  const { jwt, anonymous } = configuration
  const disallowed = serviceAccountIssuers(options)
  const allowsAnonymous = anonymousBy(anonymous, options)
  const issuers = new JwtIssuers({ jwt: jwt ?? [], algorithms }, { ...deps, disallowed })
  const stopFollowing = followFile({
    file,
    text,
    warn: (error) => deps.warn('reloading authentication config', error),
    take: async (changed) => {
      const next = decodeAuthentication(changed)
      if (!jsonEqual(next.anonymous ?? null, anonymous ?? null))
        throw wrongConfiguration(forbidden('anonymous', 'changed from initial configuration file'))
      await issuers.replace({ jwt: next.jwt ?? [], algorithms })
    },
  })
  started.defer(async () => {
    const stopped = stopFollowing()
    // It may wait for an issuer that does not answer.
    issuers.close()
    await stopped
  })
  return { jwt: issuers.authenticate, allowsAnonymous }
}

/** Rejects if the file, or what it says, cannot be used. */
export const openAuthentication = async (
  options: ServerOptions,
  deps: AuthenticationDeps,
  started: StartedParts,
): Promise<Authentication> => {
  const { authenticationConfigFile, oidc } = options
  if (authenticationConfigFile !== undefined && oidc !== undefined)
    throw new Error('authentication-config file and oidc-* flags are mutually exclusive')
  if (authenticationConfigFile !== undefined)
    return openFile(authenticationConfigFile, options, { deps, started })
  const allowsAnonymous = anonymousByOptions(options)
  if (oidc === undefined) return { jwt: undefined, allowsAnonymous }
  const { issuersOf, JwtIssuers } = await import('./jwt-issuers.js')
  const disallowed = serviceAccountIssuers(options)
  const issuers = new JwtIssuers(issuersOf(oidc), { ...deps, disallowed })
  started.defer(async () => issuers.close())
  return { jwt: issuers.authenticate, allowsAnonymous }
}
