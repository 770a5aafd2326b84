/** Mutating and validating webhooks (apiserver, pkg/admission/plugin/webhook). */
import { randomUUID } from 'node:crypto'
import { ApiError, forbidden } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { whenKnown } from '#async/when-known.js'
import { results } from '#cel/policy-environment.js'
import { Kept } from '#collections/kept.js'
import { stringify } from '#json/json.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import { annotateAudit } from '../audit-annotations.js'
import type { MatchRule } from '../match-rule.js'
import { type AdmissionPlugin, listObjects } from '../plugin.js'
import {
  type Authorize,
  activationOf,
  compile,
  conditionsHold,
  type Expression,
  type MatchCondition,
} from '../policies/cel.js'
import { reinvocationOf } from '../reinvocation.js'
import { admissionRequest, matchesRequest } from '../request-match.js'
import {
  type EquivalentsOf,
  inVersion,
  type VersionedRequest,
  writeBack,
} from '../versioned-request.js'
import {
  callWebhook,
  codeOfFailure,
  dryRunUnsupported,
  type Webhook,
  type WebhookAccess,
  type WebhookAnswer,
  WebhookDenial,
  webhookDenied,
  webhookFailed,
} from './call-webhook.js'
import type { Refusal } from './webhook-figures.js'
import { decodePatch, patchInPlace } from './webhook-patch.js'

const group = 'admissionregistration.k8s.io'
/** Configurations of admission are never subject to it, or nobody could undo a mistake. */
const isExempt = ({ resource }: AdmissionAttributes): boolean => resource.group === group

const mutatingConfigurations = { group, resource: 'mutatingwebhookconfigurations' }
const validatingConfigurations = { group, resource: 'validatingwebhookconfigurations' }

interface ConfiguredWebhook extends Webhook {
  readonly rules?: MatchRule[]
  readonly namespaceSelector?: object
  readonly objectSelector?: object
  readonly matchPolicy?: string
  readonly matchConditions?: readonly MatchCondition[]
  readonly reinvocationPolicy?: string
  /** The configuration that contains it. */
  readonly configuration: string
}

const compiled = new Kept<Expression>(limits.celPoliciesKept, Number.POSITIVE_INFINITY)

/** The conditions of a webhook are the same for every request. */
const compiledCondition = ({ expression }: MatchCondition): Expression =>
  compiled.of(expression, () => compile(expression, { params: false }, results.boolean))

/** What webhooks ask of the server besides its objects. */
interface WebhookMeans {
  readonly authorize: Authorize
  readonly equivalentsOf: EquivalentsOf
  readonly access: WebhookAccess
}

/** The request as the webhook is to see it; undefined if it is not to be called. */
const seenBy = async (
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  { authorize, equivalentsOf }: WebhookMeans,
): Promise<VersionedRequest | undefined> => {
  const { rules = [], matchConditions = [] } = webhook
  const terms = { ...webhook, resourceRules: rules }
  const version = await matchesRequest(terms, attributes, equivalentsOf)
  if (version === undefined) return undefined
  const seen = await inVersion(attributes, version)
  if (matchConditions.length === 0) return seen
  const parts = {
    object: seen.object ?? null,
    request: admissionRequest(seen, randomUUID()),
  }
  const activation = activationOf(seen, parts, authorize)
  try {
    const hold = await conditionsHold(matchConditions.map(compiledCondition), activation)
    return hold ? seen : undefined
  } catch (error) {
    if (webhook.failurePolicy === 'Ignore') return undefined
    throw forbidden(attributes.resource, attributes.name, (error as Error).message)
  }
}

interface Asking extends Pick<WebhookMeans, 'access'> {
  readonly mutating: boolean
  /** Which webhook of which round it is, for the audit log: `round_0_index_2`. */
  readonly place: string
}

/** What happened to a call that failed and whose failure is ignored. */
const failedOpen = (webhook: Webhook, attributes: VersionedRequest, asking: Asking): void => {
  const kind = asking.mutating ? 'mutation' : 'validating'
  annotateAudit(
    attributes,
    `failed-open.${kind}.webhook.admission.k8s.io/${asking.place}`,
    webhook.name,
  )
  // If the client no longer waits, no further webhook is called and nothing is written.
  attributes.ctx.caller.signal.throwIfAborted()
  asking.access.figures?.failedOpen(countedAs(webhook, attributes, asking))
}

const countedAs = ({ name }: Webhook, { operation }: VersionedRequest, { mutating }: Asking) =>
  ({ name, operation, type: mutating ? 'admit' : 'validating' }) as const

/** Throws a plain Error if the call failed. */
const ask = async (
  webhook: ConfiguredWebhook,
  attributes: VersionedRequest,
  asking: Asking,
): Promise<WebhookAnswer> => {
  const { sideEffects = 'Unknown' } = webhook
  if (attributes.ctx.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw dryRunUnsupported(webhook)
  const answer = await callWebhook(webhook, attributes, asking)
  for (const [key, value] of Object.entries(answer.auditAnnotations ?? {}))
    annotateAudit(attributes, `${webhook.name}/${key}`, value)
  for (const warning of answer.warnings ?? []) attributes.ctx.warn(warning)
  if (!answer.allowed) throw webhookDenied(webhook, answer)
  return answer
}

/** What `use` makes of the answer; undefined if the call failed and that is ignored. */
const askFor = async <T>(
  webhook: ConfiguredWebhook,
  attributes: VersionedRequest,
  asking: Asking,
  use: (answer: WebhookAnswer) => T,
): Promise<T | undefined> => {
  const begunMs = performance.now()
  const tell = (code: number, refused?: Refusal): void =>
    asking.access.figures?.called(countedAs(webhook, attributes, asking), {
      seconds: (performance.now() - begunMs) / 1000,
      code,
      refused,
    })
  try {
    const used = use(await ask(webhook, attributes, asking))
    tell(200)
    return used
  } catch (error) {
    if (error instanceof WebhookDenial) tell(error.code, 'no_error')
    else if (error instanceof ApiError) tell(0, 'apiserver_internal_error')
    if (error instanceof ApiError) throw error
    const isIgnored = webhook.failurePolicy === 'Ignore'
    tell(codeOfFailure(error), isIgnored ? undefined : 'calling_webhook_error')
    if (!isIgnored) throw webhookFailed(webhook, error)
    failedOpen(webhook, attributes, asking)
    return undefined
  }
}

const webhooksOf = oncePerObject(
  ({ metadata, webhooks = [] }: KubeObject): readonly ConfiguredWebhook[] =>
    (webhooks as ConfiguredWebhook[]).map((one) => ({ ...one, configuration: metadata.name! })),
)

/** Calls `ask` with the webhooks of a resource's objects, unless there are none. */
const withWebhooks = (
  attributes: AdmissionAttributes,
  resource: GroupResource,
  ask: (webhooks: readonly ConfiguredWebhook[]) => Promise<void>,
): void | Promise<void> => {
  if (isExempt(attributes)) return
  return whenKnown(listObjects(attributes.ctx, resource), (configurations) => {
    const webhooks = configurations.flatMap(webhooksOf)
    return webhooks.length === 0 ? undefined : ask(webhooks)
  })
}

const mutateBy = async (
  webhook: ConfiguredWebhook,
  attributes: VersionedRequest,
  asking: Asking,
): Promise<boolean> => {
  const hasChanged = await askFor(webhook, attributes, asking, (answer) => {
    const hasChanged = patchInPlace(attributes, webhook.name, answer)
    auditPatch(webhook, attributes, { answer, place: asking.place })
    return hasChanged
  })
  if (hasChanged) await writeBack(attributes)
  return hasChanged ?? false
}

const auditPatch = (
  { configuration, name }: ConfiguredWebhook,
  { ctx }: VersionedRequest,
  { answer: { patch }, place }: { answer: WebhookAnswer; place: string },
): void => {
  if (!ctx.audit?.showsRequests || !patch) return
  const operations = decodePatch(patch)
  if (operations.length === 0) return
  const value = { configuration, webhook: name, patch: operations, patchType: 'JSONPatch' }
  ctx.audit.annotate(`patch.webhook.admission.k8s.io/${place}`, stringify(value))
}

/** Whether or not the call succeeded. */
const auditMutation = (
  { configuration, name }: ConfiguredWebhook,
  { ctx }: VersionedRequest,
  place: string,
  mutated: boolean,
): void => {
  const value = stringify({ configuration, webhook: name, mutated })
  ctx.audit?.annotate(`mutation.webhook.admission.k8s.io/${place}`, value)
}

export const mutatingAdmissionWebhook = (means: WebhookMeans): AdmissionPlugin => ({
  name: 'MutatingAdmissionWebhook',
  mutate: (attributes) =>
    withWebhooks(attributes, mutatingConfigurations, async (webhooks) => {
      const reinvocation = reinvocationOf(attributes, 'webhooks')
      reinvocation.begin(attributes)
      for (const [i, webhook] of webhooks.entries()) {
        const seen = await seenBy(webhook, attributes, means)
        if (seen === undefined) continue
        const id = `${webhook.configuration}/${webhook.name}`
        if (!reinvocation.mayAsk(id)) continue
        const place = `round_${reinvocation.isSecond ? 1 : 0}_index_${i}`
        let hasChanged = false
        try {
          hasChanged = await mutateBy(webhook, seen, {
            mutating: true,
            place,
            access: means.access,
          })
        } finally {
          auditMutation(webhook, seen, place, hasChanged)
        }
        reinvocation.asked(id, webhook.reinvocationPolicy, hasChanged)
      }
      reinvocation.end(attributes)
    }),
})

export const validatingAdmissionWebhook = (means: WebhookMeans): AdmissionPlugin => ({
  name: 'ValidatingAdmissionWebhook',
  validate: (attributes) =>
    withWebhooks(attributes, validatingConfigurations, async (all) => {
      const asked: { webhook: ConfiguredWebhook; seen: VersionedRequest }[] = []
      for (const webhook of all) {
        const seen = await seenBy(webhook, attributes, means)
        if (seen !== undefined) asked.push({ webhook, seen })
      }
      // All at once, as upstream; the first refusal in their order is reported.
      const results = await Promise.allSettled(
        asked.map(({ webhook, seen }, i) =>
          askFor(
            webhook,
            seen,
            { mutating: false, place: `round_0_index_${i}`, access: means.access },
            () => undefined,
          ),
        ),
      )
      for (const result of results) if (result.status === 'rejected') throw result.reason
    }),
})
