/** The two kinds of webhook configuration: one rule book, one more default for mutating ones. */
import type { MatchRule } from '#admission/match-rule.js'
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1035Label, isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { type LabelSelector, validLabelSelector } from '#validation/label-selector.js'
import { isPort, portMessage } from '#validation/network.js'
import {
  defaultMatch,
  failurePolicies,
  matchConditionErrors,
  matchPolicies,
  oneOf,
  ruleErrors,
} from './match-rules.js'

interface ServiceReference {
  name?: string
  namespace?: string
  path?: string
  port?: number
}
interface ClientConfig {
  url?: string
  service?: ServiceReference
  caBundle?: string
}
interface Webhook {
  name?: string
  rules?: MatchRule[]
  clientConfig?: ClientConfig
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
const reviewVersions = ['v1', 'v1beta1']
const timeoutSecondsMax = 30

const nameErrors = (name: string, path: string): FieldError[] => {
  if (name === '') return [required(path)]
  const texts = isDns1123Subdomain(name)
  if (texts.length > 0) return [invalid(path, name, texts.join(','))]
  return name.split('.').length < 3
    ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : []
}

const versionErrors = (versions: string[], path: string): FieldError[] => {
  if (versions.length === 0)
    return [required(path, `must specify one of ${reviewVersions.join(', ')}`)]
  const errors = versions.flatMap((version, i) => {
    const at = index(path, i)
    if (versions.indexOf(version) < i) return [invalid(at, version, 'duplicate version')]
    return isDns1035Label(version).map((m) => invalid(at, version, m))
  })
  return versions.some((version) => reviewVersions.includes(version))
    ? errors
    : [
        ...errors,
        invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`),
      ]
}

const urlForm = 'desired format: https://host[/path]'

const urlErrors = (text: string, path: string): FieldError[] => {
  const at = child(path, 'url')
  const refuse = (why: string): FieldError => invalid(at, text, `${why}; ${urlForm}`)
  let url: URL | undefined
  try {
    url = new URL(text)
  } catch {
    url = undefined
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme !== 'https') {
    const wrong = invalid(at, scheme ?? '', `'https' is the only allowed URL scheme; ${urlForm}`)
    return url?.host
      ? [wrong]
      : [wrong, invalid(at, url?.host ?? '', `host must be specified; ${urlForm}`)]
  }
  if (url === undefined) return [invalid(at, '', `host must be specified; ${urlForm}`)]
  return [
    ...(url.username || url.password
      ? [invalid(at, url.username, 'user information is not permitted in the URL')]
      : []),
    ...(url.hash ? [invalid(at, url.hash.slice(1), 'fragments are not permitted in the URL')] : []),
    ...(url.search
      ? [invalid(at, url.search.slice(1), 'query parameters are not permitted in the URL')]
      : []),
    ...(url.host === '' ? [refuse('host must be specified')] : []),
  ]
}

const servicePathErrors = (path: string, at: string): FieldError[] => {
  if (path === '/' || path === '') return []
  const errors = path.startsWith('/') ? [] : [invalid(at, path, "must start with a '/'")]
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  return [
    ...errors,
    ...steps.flatMap((step, i) =>
      step === ''
        ? [invalid(at, path, `segment[${i}] may not be empty`)]
        : isDns1123Subdomain(step).map((m) => invalid(at, path, `segment[${i}]: ${m}`)),
    ),
  ]
}

const serviceErrors = (service: ServiceReference, path: string): FieldError[] => {
  const at = child(path, 'service')
  return [
    // Upstream hands name and namespace over in the wrong order: each is reported as the other.
    ...(service.namespace ? [] : [required(child(at, 'name'))]),
    ...(service.name ? [] : [required(child(at, 'namespace'))]),
    ...(isPort(service.port)
      ? []
      : [invalid(child(at, 'port'), service.port, `port is not valid: ${portMessage}`)]),
    ...(service.path === undefined ? [] : servicePathErrors(service.path, child(at, 'path'))),
  ]
}

const clientErrors = ({ url, service }: ClientConfig = {}, path: string): FieldError[] => {
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return url === undefined ? serviceErrors(service!, path) : urlErrors(url, path)
}

const webhookErrors = (webhook: Webhook, path: string, mutating: boolean): FieldError[] => {
  const at = (field: string): string => child(path, field)
  const { timeoutSeconds: seconds, sideEffects: effects } = webhook
  return [
    ...nameErrors(webhook.name ?? '', at('name')),
    ...(webhook.rules ?? []).flatMap((rule, i) => ruleErrors(rule, index(at('rules'), i))),
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
    ...clientErrors(webhook.clientConfig, at('clientConfig')),
    ...matchConditionErrors(webhook.matchConditions ?? [], at('matchConditions'), {
      params: false,
    }),
  ]
}

const validate = (object: KubeObject, mutating: boolean): FieldError[] => {
  const webhooks: Webhook[] = object.webhooks ?? []
  const names = new Set<string>()
  const perWebhook = webhooks.flatMap((webhook, i) => {
    const path = index('webhooks', i)
    const name = webhook.name ?? ''
    const repeated = names.has(name) ? [duplicate(child(path, 'name'), name)] : []
    names.add(name)
    return [
      ...webhookErrors(webhook, path, mutating),
      ...versionErrors(
        webhook.admissionReviewVersions ?? [],
        child(path, 'admissionReviewVersions'),
      ),
      ...repeated,
    ]
  })
  return perWebhook
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
  generation: (next, previous) => !sameJson(next.webhooks, previous.webhooks),
  default: (object) => writeDefaults(object, mutating),
  prepareForCreate: (object) => {
    object.metadata.generation = 1
  },
  validate: (object) => validate(object, mutating),
  validateUpdate: (object) => validate(object, mutating),
})

export const sampleWebhook = {
  name: 'sample.example.com',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://example.com/sample' },
}
