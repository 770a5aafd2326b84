/** The two kinds of webhook configuration: one rule book, one more default for mutating ones. */
import type { MatchRule } from '#admission/match-rule.js'
import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  oneOf,
  required,
} from '#api/field-error.js'
import type { LabelSelector } from '#api/label-selector.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { givenEmpty, holdsGivenEmpty } from '#json/given-empty.js'
import type { Strategy } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { validLabelSelector } from '#validation/label-selector.js'
import {
  reviewVersionErrors,
  reviewVersions,
  type WebhookClientConfig,
  webhookClientErrors,
} from '#validation/webhook-client.js'
import {
  defaultMatch,
  failurePolicies,
  matchConditionErrors,
  matchPolicies,
  ruleErrors,
} from './match-rules.js'
import { staticNameWarnings } from './static-names.js'

interface Webhook {
  name?: string
  rules?: MatchRule[]
  clientConfig?: WebhookClientConfig
  failurePolicy?: string
  matchPolicy?: string
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  /** Null when it is missing: Go writes the pointer. */
  sideEffects?: string | null
  timeoutSeconds?: number
  admissionReviewVersions?: string[]
  reinvocationPolicy?: string
  matchConditions?: { name?: string; expression?: string }[]
}

const sideEffects = ['None', 'NoneOnDryRun']
const timeoutSecondsMax = 30

const nameErrors = (name: string, path: string): FieldError[] => {
  if (name === '') return [required(path)]
  const texts = isDns1123Subdomain(name)
  if (texts.length > 0) return [invalid(path, name, texts.join(','))]
  return name.split('.').length < 3
    ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : []
}

const versionErrors = (versions: string[], path: string): FieldError[] =>
  versions.length === 0
    ? [required(path, `must specify one of ${reviewVersions.join(', ')}`)]
    : reviewVersionErrors(versions, path)

const webhookErrors = (webhook: Webhook, path: string, mutating: boolean): FieldError[] => {
  const at = (field: string): string => child(path, field)
  const { timeoutSeconds: seconds, sideEffects: effects } = webhook
  return [
    ...nameErrors(webhook.name ?? '', at('name')),
    ...each(at('rules'), webhook.rules, ruleErrors),
    ...oneOf(at('failurePolicy'), webhook.failurePolicy, failurePolicies),
    ...oneOf(at('matchPolicy'), webhook.matchPolicy, matchPolicies),
    ...(effects === undefined || effects === null
      ? [required(at('sideEffects'), `must specify one of ${sideEffects.join(', ')}`)]
      : sideEffects.includes(effects)
        ? []
        : [notSupported(at('sideEffects'), effects, sideEffects)]),
    ...(seconds !== undefined && (seconds < 1 || seconds > timeoutSecondsMax)
      ? [
          invalid(
            at('timeoutSeconds'),
            seconds,
            `the timeout value must be between 1 and ${timeoutSecondsMax} seconds`,
          ),
        ]
      : []),
    ...validLabelSelector(at('namespaceSelector'), webhook.namespaceSelector),
    ...validLabelSelector(at('objectSelector'), webhook.objectSelector),
    ...(mutating
      ? oneOf(at('reinvocationPolicy'), webhook.reinvocationPolicy, ['IfNeeded', 'Never'])
      : []),
    ...webhookClientErrors(webhook.clientConfig ?? {}, at('clientConfig')),
    ...matchConditionErrors(webhook.matchConditions ?? [], at('matchConditions'), {
      params: false,
    }),
  ]
}

const validate = (object: KubeObject, mutating: boolean): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return each('webhooks', object.webhooks as Webhook[] | undefined, (webhook, path) => {
    const name = webhook.name ?? ''
    return [
      ...webhookErrors(webhook, path, mutating),
      ...versionErrors(
        webhook.admissionReviewVersions ?? [],
        child(path, 'admissionReviewVersions'),
      ),
      ...(isRepeated(name) && name !== '' ? [duplicate(child(path, 'name'), name)] : []),
    ]
  })
}

const writeDefaults = (object: KubeObject, mutating: boolean): void => {
  for (const webhook of (object.webhooks ?? []) as Webhook[]) {
    webhook.failurePolicy ??= 'Fail'
    webhook.timeoutSeconds ??= 10
    webhook.matchPolicy ??= 'Equivalent'
    webhook.namespaceSelector ??= {}
    webhook.objectSelector ??= {}
    if (mutating) webhook.reinvocationPolicy ??= 'Never'
    if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443
    defaultMatch({ namespaceSelector: {}, objectSelector: {}, resourceRules: webhook.rules })
  }
}

export const webhookStrategy = (mutating: boolean): Strategy => ({
  metadataRevalidation: 'create',
  knownFinalizerNames: false,
  // Compared as Go does, not semantically.
  generation: (next, previous) =>
    !sameJson(next.webhooks, previous.webhooks) ||
    givenEmpty(next, 'webhooks') !== undefined ||
    holdsGivenEmpty(next.webhooks),
  default: (object) => writeDefaults(object, mutating),
  prepareForCreate: (object) => {
    object.metadata.generation = 1
  },
  validate: (object) => validate(object, mutating),
  validateUpdate: (object) => validate(object, mutating),
  ...staticNameWarnings(),
})

export const sampleWebhook = {
  name: 'sample.example.com',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://example.com/sample' },
}
