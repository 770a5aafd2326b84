/** Who decides what may be done, as the options say it (kubernetes, pkg/kubeapiserver/authorizer). */

import { once } from '#async/once.js'
import { abacAuthorizer } from '#authz/abac.js'
import { readPolicyFile } from '#authz/abac-policy-file.js'
import type {
  AuthorizerConfiguration,
  BuiltInAuthorizer,
} from '#authz/authorization-configuration.js'
import { allOf } from '#authz/full-authorizer.js'
import { aggregate } from '#go/aggregate.js'
import { goQuote, goQuoteList } from '#go/quote.js'
import { limits } from '#limits'
import type { ServerOptions } from '../options.js'
import type { StartedParts } from '../started-parts.js'
import type { Authorization, AuthorizerDeps } from './configured-authorizers.js'

/** Throws an Error in the words of kube-apiserver, whose flags these are. */
const checkModes = (
  { authorizationModes: modes = [], authorizationWebhook, authorizationPolicyFile }: ServerOptions,
  builtIn: object,
): void => {
  const hasMode = modes.includes('Webhook')
  const hasPolicies = modes.includes('ABAC')
  const problem = aggregate([
    ...modes
      .filter((mode) => mode !== 'Webhook' && !Object.hasOwn(builtIn, mode))
      .map((mode) => `authorization-mode ${goQuote(mode)} is not a valid mode`),
    ...(hasPolicies && !authorizationPolicyFile
      ? ["authorization-mode ABAC's authorization policy file not passed"]
      : []),
    ...(hasMode && !authorizationWebhook
      ? ["authorization-mode Webhook's authorization config file not passed"]
      : []),
    ...(!hasPolicies && authorizationPolicyFile
      ? ['cannot specify --authorization-policy-file without mode ABAC']
      : []),
    ...(!hasMode && authorizationWebhook
      ? ['cannot specify --authorization-webhook-config-file without mode Webhook']
      : []),
    ...(new Set(modes).size < modes.length
      ? [`authorization-mode ${goQuoteList(modes)} has mode specified more than once`]
      : []),
  ])
  if (problem !== undefined) throw new Error(problem)
}

const configurationsOf = ({
  authorizationModes = ['RBAC'],
  authorizationWebhook: webhook,
}: ServerOptions): AuthorizerConfiguration[] =>
  authorizationModes.map((type) =>
    type !== 'Webhook'
      ? { type }
      : {
          type,
          webhook: {
            version: webhook!.version ?? 'v1beta1',
            configFile: webhook!.configFile,
            timeoutMs: limits.webhookTimeoutMs,
            authorizedTtlMs: webhook!.cacheAuthorizedTtlMs ?? limits.authorizedKeptMs,
            unauthorizedTtlMs: webhook!.cacheUnauthorizedTtlMs ?? limits.unauthorizedKeptMs,
            onError: 'no opinion',
            matchConditions: [],
          },
        },
  )

/** Rejects where a file that the options name cannot be used. */
export const openAuthorizers = async (
  options: ServerOptions,
  given: AuthorizerDeps<'ABAC'>,
  started: StartedParts,
): Promise<Authorization> => {
  const policies = once(() => abacAuthorizer(readPolicyFile(options.authorizationPolicyFile ?? '')))
  const builtIn = {
    ...given.builtIn,
    /** Read where the mode is on. */
    get ABAC() {
      return policies()
    },
  }
  const deps = { ...given, builtIn }
  if (options.authorizationConfigFile !== undefined) {
    const { followConfiguration } = await import('./configured-authorizers.js')
    return followConfiguration(options.authorizationConfigFile, deps, started)
  }
  checkModes(options, builtIn)
  const configurations = configurationsOf(options)
  const hasNode = configurations.some(({ type }) => type === 'Node')
  if (options.authorizationWebhook !== undefined) {
    const { authorizersOf } = await import('./configured-authorizers.js')
    const authorizer = await authorizersOf(configurations, deps, (webhook) =>
      started.defer(async () => webhook.close()),
    )
    return { ...authorizer, hasNode }
  }
  const modes = configurations.map(({ type }) => deps.builtIn[type as BuiltInAuthorizer])
  return { ...allOf(modes), hasNode }
}
