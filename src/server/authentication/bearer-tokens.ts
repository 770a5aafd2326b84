/** The authenticators of bearer tokens, from the server's options (kubernetes, pkg/kubeapiserver/authenticator). */
import { readFileSync } from 'node:fs'
import type { Clock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import {
  audienceAgnostic,
  type TokenVerifier,
  type UnionVerifier,
  unionVerifier,
} from '#authn/authenticator.js'
import { bootstrapTokens } from '#authn/bootstrap-tokens.js'
import { ServiceAccountTokens } from '#authn/service-account-tokens.js'
import { TokenCache } from '#authn/token-cache.js'
import { staticTokenAuthenticator } from '#authn/token-file.js'
import type { TokenReferences } from '#authn/token-references.js'
import { webhookTokens } from '#authn/webhook-tokens.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { limits } from '#limits'
import type { MetricFamily } from '#metrics/metric-family.js'
import { privateKeyOf, publicKeysOf, type TokenKey } from '#net/token-keys.js'
import { internalContext } from '#registry/internal-context.js'
import type { Store } from '#registry/store.js'
import type { ServerCredentials } from '../credentials/credentials.js'
import { staticTokens } from '../credentials/identity.js'
import type { ServerOptions } from '../options.js'
import { ReviewWebhook } from '../review-webhook.js'
import type { StartedParts } from '../started-parts.js'

export interface BearerTokens {
  /** Tokens that are valid as long as the server runs. */
  readonly known: (token: string) => UserInfo | undefined
  /** Tokens that may stop being valid at any time. */
  readonly others: UnionVerifier
  /** All of them. */
  readonly all: UnionVerifier
  readonly serviceAccounts: ServiceAccountTokens
  readonly families: readonly MetricFamily[]
}

export interface BearerTokenDeps {
  readonly credentials: ServerCredentials
  readonly clock: Clock
  readonly warn: (message: string, error?: unknown) => void
  readonly storeOf: (group: string, resource: string) => Store
  /** The user of a JWT of another issuer; undefined if no issuer is configured. */
  readonly jwt: ((token: string) => Promise<UserInfo | string | undefined>) | undefined
}

type Find = (resource: string, namespace: string, name: string) => Promise<KubeObject | undefined>

/**
 * A token that refers to an object that is gone or cannot be read is not valid (upstream: 401 for every error of its
 * getters).
 */
const finder = ({ clock, storeOf }: BearerTokenDeps): Find => {
  const caller = new AbortController()
  return async (resource, namespace, name) => {
    const ctx = internalContext(
      { now: clock.now(), caller, stores: () => undefined },
      namespace === '' ? undefined : namespace,
    )
    try {
      return (await storeOf('', resource).get(ctx, name, { kind: 'any' })).object
    } catch {
      return undefined
    }
  }
}

/** Labels as a client of the server would. Nobody waits for it, so nobody but the log is told of a failure. */
const labeller =
  ({ clock, storeOf, warn }: BearerTokenDeps): TokenReferences['label'] =>
  async ({ metadata: { namespace, name, uid } }, labels) => {
    const caller = new AbortController()
    const stores = ({ group, resource }: GroupResource) => storeOf(group, resource)
    const ctx = internalContext({ now: clock.now(), caller, stores }, namespace)
    try {
      await storeOf('', 'secrets').update(ctx, name!, (current) => {
        const metadata = { ...current!.metadata }
        if (metadata.uid === uid) metadata.labels = { ...metadata.labels, ...labels }
        return { ...current!, metadata }
      })
    } catch (error) {
      warn(`failed to label the token in Secret ${namespace}/${name}`, error)
    }
  }

/** The first signs. */
export const serviceAccountIssuers = ({
  serviceAccountIssuer = [],
}: ServerOptions): readonly [string, ...string[]] => {
  const [issuer = 'https://kubernetes.default.svc', ...former] = [serviceAccountIssuer].flat()
  return [issuer, ...former]
}

/** Throws an Error in upstream's words, as `keysIn` does. */
const signingKeyIn = (file: string): (() => string) => {
  const pem = readFileSync(file, 'utf8')
  try {
    privateKeyOf(pem)
  } catch (error) {
    const why = (error as Error).message
    throw new Error(
      `failed to parse service-account-issuer-key-file: error reading private key file ${file}: ${why}`,
    )
  }
  return () => pem
}

const keysIn = (file: string): readonly TokenKey[] => {
  try {
    return publicKeysOf(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`error reading public key file ${file}: ${(error as Error).message}`)
  }
}

const serviceAccountTokens = (
  options: ServerOptions,
  deps: BearerTokenDeps,
  find: Find,
): ServiceAccountTokens => {
  const { credentials, clock } = deps
  const { serviceAccountSigningKeyFile, serviceAccountKeyFiles = [], apiAudiences } = options
  const issuers = serviceAccountIssuers(options)
  return new ServiceAccountTokens({
    issuers,
    audiences: apiAudiences?.length ? apiAudiences : issuers,
    lifetime: {
      maxSeconds: (options.serviceAccountMaxTokenExpirationMs ?? 0) / 1000,
      extends: options.serviceAccountExtendTokenExpiration ?? true,
    },
    signingKeyPem:
      serviceAccountSigningKeyFile === undefined
        ? () => credentials.serviceAccountKeyPem()
        : signingKeyIn(serviceAccountSigningKeyFile),
    verifyingKeys: serviceAccountKeyFiles.flatMap(keysIn),
    clock,
    references: { find, label: labeller(deps) },
  })
}

/** Rejects where a file that the options name cannot be used. */
export const openBearerTokens = async (
  options: ServerOptions,
  deps: BearerTokenDeps,
  started: StartedParts,
): Promise<BearerTokens> => {
  const { clock, credentials } = deps
  const find = finder(deps)
  const serviceAccounts = serviceAccountTokens(options, deps, find)
  const { audiences } = serviceAccounts
  const known = staticTokenAuthenticator(staticTokens(options, credentials.adminToken))
  const verifiers: TokenVerifier[] = [
    (token, wanted, notes) => serviceAccounts.verify(token, wanted, notes),
  ]
  if (options.enableBootstrapTokenAuth === true) {
    const secret = (name: string) => find('secrets', 'kube-system', name)
    verifiers.push(audienceAgnostic(audiences, bootstrapTokens({ secret, clock })))
  }
  if (deps.jwt !== undefined) verifiers.push(audienceAgnostic(audiences, deps.jwt))
  if (options.authenticationTokenWebhook !== undefined) {
    const { configFile, version, cacheTtlMs } = options.authenticationTokenWebhook
    const webhook = new ReviewWebhook(await loadKubeconfig(configFile))
    started.defer(async () => webhook.close())
    verifiers.push(
      webhookTokens({
        ask: (sent) => webhook.ask(sent),
        version: version ?? 'v1beta1',
        audiences,
        cacheTtlMs: cacheTtlMs ?? limits.tokenWebhookCacheMs,
        clock,
      }),
    )
  }
  const knownVerifier = audienceAgnostic(audiences, async (token) => known(token))
  const cache = new TokenCache(unionVerifier(verifiers), clock)
  return {
    known,
    others: cache.verify,
    all: async (token, wanted, notes) => {
      const found = await knownVerifier(token, wanted, notes)
      return typeof found === 'object' ? found : cache.verify(token, wanted, notes)
    },
    serviceAccounts,
    families: [...serviceAccounts.uses.families, ...cache.families],
  }
}
