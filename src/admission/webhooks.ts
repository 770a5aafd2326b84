/** Mutating and validating webhooks (apiserver, pkg/admission/plugin/webhook). */
import { randomUUID } from 'node:crypto'
import { ApiError } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import { Kept } from '#api/kept.js'
import type { KubeObject } from '#api/object.js'
import { results } from '#cel/policy-environment.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import {
  callWebhook,
  dryRunUnsupported,
  type Webhook,
  type WebhookAnswer,
  webhookDenied,
  webhookFailed,
} from './call-webhook.js'
import {
  type Authorize,
  activationOf,
  compile,
  conditionsHold,
  type Expression,
  type MatchCondition,
} from './cel.js'
import type { MatchRule } from './match-rule.js'
import { type AdmissionPlugin, listObjects, refuse, whenKnown } from './plugin.js'
import { namespaceOf } from './policy-input.js'
import { reinvocationOf } from './reinvocation.js'
import { admissionRequest, matchesRequest } from './request-match.js'
import { patchInPlace } from './webhook-patch.js'

const group = 'admissionregistration.k8s.io'
const mutatingConfigurations = { group, resource: 'mutatingwebhookconfigurations' }
const validatingConfigurations = { group, resource: 'validatingwebhookconfigurations' }

interface ConfiguredWebhook extends Webhook {
  readonly rules?: MatchRule[]
  readonly namespaceSelector?: object
  readonly objectSelector?: object
  readonly matchConditions?: readonly MatchCondition[]
  readonly reinvocationPolicy?: string
  /** Which configuration it stands in. */
  readonly configuration: string
}

const compiled = new Kept<Expression>(limits.celPoliciesKept)

/** Webhooks say the same conditions on every request. */
const compiledCondition = ({ expression }: MatchCondition): Expression =>
  compiled.of(expression, () => compile(expression, { params: false }, results.boolean))

const isAsked = async (
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  authorize: Authorize,
): Promise<boolean> => {
  const { rules, namespaceSelector, objectSelector, matchConditions = [] } = webhook
  const terms = { resourceRules: rules, namespaceSelector, objectSelector }
  if (!(await matchesRequest(terms, attributes))) return false
  if (matchConditions.length === 0) return true
  const parts = {
    object: attributes.object ?? null,
    request: admissionRequest(attributes, randomUUID()),
    namespaceObject: await namespaceOf(attributes),
  }
  const activation = activationOf(attributes, parts, authorize)
  try {
    return await conditionsHold(matchConditions.map(compiledCondition), activation)
  } catch (error) {
    if (webhook.failurePolicy === 'Ignore') return false
    throw refuse(attributes, (error as Error).message)
  }
}

/** Undefined when the webhook could not be asked and that is to be ignored. */
const ask = async (
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  { mutating }: { mutating: boolean },
): Promise<WebhookAnswer | undefined> => {
  const { sideEffects = 'Unknown' } = webhook
  if (attributes.ctx.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw dryRunUnsupported(webhook)
  let answer: WebhookAnswer
  try {
    answer = await callWebhook(webhook, attributes, { mutating })
  } catch (error) {
    if (webhook.failurePolicy === 'Ignore') return undefined
    throw error instanceof ApiError ? error : webhookFailed(webhook, error)
  }
  for (const warning of answer.warnings ?? []) attributes.ctx.warn(warning)
  if (!answer.allowed) throw webhookDenied(webhook, answer)
  return answer
}

/** Calls `ask` with the webhooks of a resource's objects, unless there are none. */
const withWebhooks = (
  { ctx }: AdmissionAttributes,
  resource: GroupResource,
  ask: (webhooks: readonly ConfiguredWebhook[]) => Promise<void>,
): void | Promise<void> =>
  whenKnown(listObjects(ctx, resource), (configurations) => {
    const webhooks = configurations.flatMap((o: KubeObject) =>
      ((o.webhooks ?? []) as ConfiguredWebhook[]).map((webhook) => ({
        ...webhook,
        configuration: o.metadata.name!,
      })),
    )
    return webhooks.length === 0 ? undefined : ask(webhooks)
  })

const mutateBy = async (
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
): Promise<boolean> => {
  const answer = await ask(webhook, attributes, { mutating: true })
  if (answer === undefined) return false
  try {
    return patchInPlace(attributes, webhook.name, answer)
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (webhook.failurePolicy === 'Ignore') return false
    throw webhookFailed(webhook, error)
  }
}

export const mutatingAdmissionWebhook = (authorize: Authorize): AdmissionPlugin => ({
  name: 'MutatingAdmissionWebhook',
  mutate: (attributes) =>
    withWebhooks(attributes, mutatingConfigurations, async (webhooks) => {
      const reinvocation = reinvocationOf(attributes, 'webhooks')
      reinvocation.begin(attributes)
      for (const webhook of webhooks) {
        if (!(await isAsked(webhook, attributes, authorize))) continue
        const id = `${webhook.configuration}/${webhook.name}`
        if (!reinvocation.mayAsk(id)) continue
        const hasChanged = await mutateBy(webhook, attributes)
        reinvocation.asked(id, webhook.reinvocationPolicy, hasChanged)
      }
      reinvocation.end(attributes)
    }),
})

export const validatingAdmissionWebhook = (authorize: Authorize): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  validate: (attributes) =>
    withWebhooks(attributes, validatingConfigurations, async (all) => {
      const asked: ConfiguredWebhook[] = []
      for (const webhook of all)
        if (await isAsked(webhook, attributes, authorize)) asked.push(webhook)
      // All at once, as upstream does it; the first refusal in their order is the one that is told.
      const results = await Promise.allSettled(
        asked.map((webhook) => ask(webhook, attributes, { mutating: false })),
      )
      for (const result of results) if (result.status === 'rejected') throw result.reason
    }),
})
