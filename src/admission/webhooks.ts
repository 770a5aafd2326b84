/** Mutating and validating webhooks (apiserver, pkg/admission/plugin/webhook). */
import { randomUUID } from 'node:crypto'
import { ApiError } from '#api/errors.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { results } from '#cel/policy-environment.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import { applyJsonPatch } from '#registry/patch/json.js'
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
import { type AdmissionPlugin, listObjects } from './plugin.js'
import { namespaceOf } from './policy-input.js'
import { admissionRequest, matchesRequest } from './request-match.js'

const group = 'admissionregistration.k8s.io'

interface ConfiguredWebhook extends Webhook {
  readonly rules?: MatchRule[]
  readonly namespaceSelector?: object
  readonly objectSelector?: object
  readonly matchConditions?: readonly MatchCondition[]
}

const compiled = new Map<string, Expression>()

/** Webhooks say the same conditions on every request. */
const compiledCondition = ({ expression }: MatchCondition): Expression => {
  let found = compiled.get(expression)
  if (found === undefined) {
    found = compile(expression, { params: false }, results.boolean)
    if (compiled.size >= limits.celPoliciesKept) compiled.clear()
    compiled.set(expression, found)
  }
  return found
}

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
    throw webhookFailed(webhook, error)
  }
}

/** Undefined when the webhook could not be asked and that is to be ignored. */
const ask = async (
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
): Promise<WebhookAnswer | undefined> => {
  const { sideEffects = 'Unknown' } = webhook
  if (attributes.ctx.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw dryRunUnsupported(webhook)
  let answer: WebhookAnswer
  try {
    answer = await callWebhook(webhook, attributes)
  } catch (error) {
    if (webhook.failurePolicy === 'Ignore') return undefined
    throw error instanceof ApiError ? error : webhookFailed(webhook, error)
  }
  for (const warning of answer.warnings ?? []) attributes.ctx.warn(warning)
  if (!answer.allowed) throw webhookDenied(webhook, answer)
  return answer
}

const webhooksOf = async (
  { ctx }: AdmissionAttributes,
  resource: string,
): Promise<ConfiguredWebhook[]> =>
  (await listObjects(ctx, { group, resource })).flatMap((o: KubeObject) => o.webhooks ?? [])

/** Puts the patched content into the object in place: the chain holds on to it. */
const patchInPlace = (object: KubeObject, patch: string): void => {
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString()) as JsonValue
  const patched = applyJsonPatch(object as unknown as JsonObject, operations) as JsonObject
  for (const key of Object.keys(object)) if (!(key in patched)) delete object[key]
  Object.assign(object, patched)
}

export const mutatingAdmissionWebhook = (authorize: Authorize): AdmissionPlugin => ({
  name: 'MutatingAdmissionWebhook',
  mutate: async (attributes) => {
    for (const webhook of await webhooksOf(attributes, 'mutatingwebhookconfigurations')) {
      if (!(await isAsked(webhook, attributes, authorize))) continue
      const answer = await ask(webhook, attributes)
      if (answer?.patch && attributes.object) patchInPlace(attributes.object, answer.patch)
    }
  },
})

export const validatingAdmissionWebhook = (authorize: Authorize): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  validate: async (attributes) => {
    const all = await webhooksOf(attributes, 'validatingwebhookconfigurations')
    const asked: ConfiguredWebhook[] = []
    for (const webhook of all)
      if (await isAsked(webhook, attributes, authorize)) asked.push(webhook)
    // All at once, as upstream does it; the first refusal in their order is the one that is told.
    const results = await Promise.allSettled(asked.map((webhook) => ask(webhook, attributes)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  },
})
