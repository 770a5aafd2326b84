/**
 * Authorizers with webhooks among them, and those of a file, which is read again when it changes
 * (kubernetes, pkg/kubeapiserver/authorizer/reload.go).
 */
import { readFile } from 'node:fs/promises'
import type { Clock } from '#api/clock.js'
import {
  type AuthorizerConfiguration,
  readAuthorizationConfiguration,
  type WebhookConfiguration,
} from '#authz/authorization-configuration.js'
import { allOf, type BuiltInAuthorizers, type FullAuthorizer } from '#authz/full-authorizer.js'
import { webhookAuthorizer } from '#authz/webhook-authorizer.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { followFile } from '../follow-file.js'
import { ReviewWebhook } from '../review-webhook.js'
import type { StartedParts } from '../started-parts.js'

/** `Missing`: built-in authorizers that are made later. */
export interface AuthorizerDeps<Missing extends string = never> {
  readonly builtIn: Omit<BuiltInAuthorizers, Missing>
  readonly clock: Clock
  readonly warn: (message: string, error?: unknown) => void
}

export interface Authorization extends FullAuthorizer {
  /** Whether the Node authorizer takes part. */
  readonly hasNode: boolean
}

/** Takes a webhook that was opened, to close it. */
type Opened = (webhook: ReviewWebhook) => void

const webhookOf = async (
  configuration: WebhookConfiguration,
  { clock }: AuthorizerDeps,
  opened: Opened,
): Promise<FullAuthorizer> => {
  const { configFile, timeoutMs, ...rest } = configuration
  const webhook = new ReviewWebhook(await loadKubeconfig(configFile), { timeoutMs })
  opened(webhook)
  return webhookAuthorizer({ ...rest, ask: (sent) => webhook.ask(sent), clock })
}

/** Rejects where a kubeconfig cannot be used. */
export const authorizersOf = async (
  configurations: readonly AuthorizerConfiguration[],
  deps: AuthorizerDeps,
  opened: Opened,
): Promise<FullAuthorizer> => {
  const made: FullAuthorizer[] = []
  for (const one of configurations)
    made.push(
      one.type === 'Webhook' ? await webhookOf(one.webhook, deps, opened) : deps.builtIn[one.type],
    )
  return allOf(made)
}

/** Built-in authorizers whose data is read, and followed, from the start. */
const readAtStart: readonly string[] = ['Node', 'ABAC', 'RBAC']

/** Rejects if the file cannot be used. A later version of it that cannot be used changes nothing. */
export const followConfiguration = async (
  file: string,
  deps: AuthorizerDeps,
  started: StartedParts,
): Promise<Authorization> => {
  const text = await readFile(file, 'utf8')
  const configurations = readAuthorizationConfiguration(text)
  const needed = configurations.flatMap(({ type }) => (type === 'Webhook' ? [] : [type]))
  const isReady = (type: string) => !readAtStart.includes(type) || needed.some((t) => t === type)
  const open = new Set<ReviewWebhook>()
  started.defer(async () => {
    for (const webhook of open) webhook.close()
  })
  const opened: Opened = (webhook) => void open.add(webhook)
  /** Those of another configuration than the one in use. */
  const retire = (webhooks: readonly ReviewWebhook[]): void => {
    for (const webhook of webhooks) void webhook.closeWhenIdle().then(() => open.delete(webhook))
  }
  let current = await authorizersOf(configurations, deps, opened)
  const stop = followFile({
    file,
    text,
    take: async (changed) => {
      const wanted = readAuthorizationConfiguration(changed, needed)
      const late = wanted.find(({ type }) => !isReady(type))
      if (late !== undefined)
        throw new Error(
          `authorizer type ${late.type} is not allowed if it was not enabled at initial server startup`,
        )
      const former = [...open]
      try {
        current = await authorizersOf(wanted, deps, opened)
        retire(former)
      } catch (error) {
        retire([...open].filter((webhook) => !former.includes(webhook)))
        throw error
      }
    },
    warn: (error) => deps.warn('reloading authorization config', error),
  })
  started.defer(stop)
  return {
    authorize: (attributes) => current.authorize(attributes),
    rulesFor: (user, namespace) => current.rulesFor(user, namespace),
    hasNode: needed.includes('Node'),
  }
}
