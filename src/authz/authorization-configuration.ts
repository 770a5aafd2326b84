/** Reads the file that names a server's authorizers in order (apiserver, pkg/apis/apiserver). */

import { type Stats, statSync } from 'node:fs'
import path from 'node:path'
import { aggregateMessage } from '#api/errors.js'
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
  tooMany,
} from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import { aggregate } from '#go/aggregate.js'
import { durationMs, durationProblem, printedDuration } from '#go/duration.js'
import { trimSpace } from '#go/trim-space.js'
import { limits } from '#limits'
import { decodeConfiguration } from '#registry/decode-configuration.js'
import { compileCondition, type MatchCondition } from './match-conditions.js'

const builtInAuthorizers = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Node', 'RBAC'] as const
export type BuiltInAuthorizer = (typeof builtInAuthorizers)[number]

export interface WebhookConfiguration {
  readonly version: string
  readonly configFile: string
  readonly timeoutMs: number
  /** 0: answers are not kept. */
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly onError: 'deny' | 'no opinion'
  readonly matchConditions: readonly MatchCondition[]
}

export type AuthorizerConfiguration =
  | { readonly type: BuiltInAuthorizer }
  | { readonly type: 'Webhook'; readonly webhook: WebhookConfiguration }

interface GivenWebhook {
  readonly authorizedTTL?: string
  readonly cacheAuthorizedRequests?: boolean
  readonly unauthorizedTTL?: string
  readonly cacheUnauthorizedRequests?: boolean
  readonly timeout?: string
  readonly subjectAccessReviewVersion: string
  readonly matchConditionSubjectAccessReviewVersion: string
  readonly failurePolicy: string
  readonly connectionInfo: { readonly type: string; readonly kubeConfigFile: string | null }
  readonly matchConditions: readonly { readonly expression: string }[] | null
}

interface GivenAuthorizer {
  readonly type: string
  readonly name: string
  readonly webhook?: GivenWebhook | null
}

const kind = 'AuthorizationConfiguration'
const types = Object.fromEntries(
  ['v1', 'v1beta1', 'v1alpha1'].map((version) => [
    `apiserver.config.k8s.io/${version} ${kind}`,
    `apiserver.${version}.${kind}`,
  ]),
)

const checkDurations = ({ authorizedTTL, unauthorizedTTL, timeout }: GivenWebhook): void => {
  for (const text of [authorizedTTL, unauthorizedTTL, timeout]) {
    const problem = text === undefined ? undefined : durationProblem(text)
    if (problem !== undefined) throw new Error(problem)
  }
}

const decode = (text: string): readonly GivenAuthorizer[] => {
  if (text === '') return []
  const { value } = decodeConfiguration<{ authorizers: GivenAuthorizer[] | null }>(text, types)
  const authorizers = value.authorizers ?? []
  for (const { webhook } of authorizers) if (webhook) checkDurations(webhook)
  return authorizers
}

/** Missing and zero mean the default, if there is one. */
const msOf = (text: string | undefined, defaultMs = 0): number =>
  durationMs(text || '0') || defaultMs

const durationErrors = (ms: number, path: string, max = Infinity): FieldError[] => {
  if (ms === 0) return [required(path)]
  if (ms > 0 && ms <= max) return []
  const bound = max === Infinity ? '' : ` and <= ${printedDuration(max)}`
  return [invalid(path, printedDuration(ms), `must be > 0s${bound}`)]
}

const fileErrors = (file: string | null, at: string): FieldError[] => {
  if (!file) return [required(at)]
  if (!path.isAbsolute(file)) return [invalid(at, file, 'must be an absolute path')]
  let stats: Stats | undefined
  try {
    stats = statSync(file, { throwIfNoEntry: false })
  } catch (error) {
    return [invalid(at, file, `error loading file: ${(error as Error).message}`)]
  }
  if (stats === undefined)
    return [invalid(at, file, `error loading file: stat ${file}: no such file or directory`)]
  return stats.isFile() ? [] : [invalid(at, file, 'must be a regular file')]
}

/** Upstream knows InClusterConfig, too, and cannot start with it. */
const connectionErrors = (
  { type, kubeConfigFile }: GivenWebhook['connectionInfo'],
  at: string,
): FieldError[] => {
  if (type === '') return [required(child(at, 'type'))]
  if (type === 'KubeConfigFile') return fileErrors(kubeConfigFile, child(at, 'kubeConfigFile'))
  const printed = { Type: type, KubeConfigFile: kubeConfigFile }
  return [notSupported(child(at, 'type'), printed, ['KubeConfigFile'])]
}

const neededOf = (value: string, values: readonly string[], at: string): FieldError[] => {
  if (value === '') return [required(at)]
  return values.includes(value) ? [] : [notSupported(at, value, values)]
}

interface Compiled<T> {
  readonly value: T
  readonly errors: readonly FieldError[]
}

const compileConditions = (
  conditions: readonly { readonly expression: string }[],
  at: string,
): Compiled<MatchCondition[]> => {
  const max = limits.authorizationConditionsMax
  if (conditions.length > max) return { value: [], errors: [tooMany(at, conditions.length, max)] }
  const errors: FieldError[] = []
  const seen = new Set<string>()
  const value = conditions.flatMap(({ expression }, i) => {
    const place = child(index(at, i), 'expression')
    if (trimSpace(expression) === '') errors.push(required(place))
    else if (seen.has(expression)) errors.push(duplicate(place, expression))
    else {
      seen.add(expression)
      const compiled = compileCondition(expression)
      if (typeof compiled !== 'string') return [compiled]
      errors.push(invalid(place, expression, compiled))
    }
    return []
  })
  return { value, errors }
}

/** Upstream's paths do not name the field `webhook`. */
const compileWebhook = (given: GivenWebhook, at: string): Compiled<WebhookConfiguration> => {
  const { failurePolicy, connectionInfo, matchConditions } = given
  const timeoutMs = msOf(given.timeout)
  const authorizedTtlMs = msOf(given.authorizedTTL, limits.authorizedKeptMs)
  const unauthorizedTtlMs = msOf(given.unauthorizedTTL, limits.unauthorizedKeptMs)
  const version = given.subjectAccessReviewVersion
  const conditionVersion = given.matchConditionSubjectAccessReviewVersion
  const conditions = compileConditions(matchConditions ?? [], child(at, 'matchConditions'))
  const conditionVersionAt = child(at, 'matchConditionSubjectAccessReviewVersion')
  const errors = [
    ...durationErrors(timeoutMs, child(at, 'timeout'), limits.webhookTimeoutMs),
    ...durationErrors(authorizedTtlMs, child(at, 'authorizedTTL')),
    ...durationErrors(unauthorizedTtlMs, child(at, 'unauthorizedTTL')),
    ...neededOf(version, ['v1', 'v1beta1'], child(at, 'subjectAccessReviewVersion')),
    ...(conditionVersion === '' && matchConditions?.length
      ? [required(conditionVersionAt, 'required if match conditions are specified')]
      : []),
    ...(conditionVersion !== '' ? neededOf(conditionVersion, ['v1'], conditionVersionAt) : []),
    ...neededOf(failurePolicy, ['NoOpinion', 'Deny'], child(at, 'failurePolicy')),
    ...connectionErrors(connectionInfo, child(at, 'connectionInfo')),
    ...conditions.errors,
  ]
  const value: WebhookConfiguration = {
    version,
    configFile: connectionInfo.kubeConfigFile ?? '',
    timeoutMs,
    authorizedTtlMs: (given.cacheAuthorizedRequests ?? true) ? authorizedTtlMs : 0,
    unauthorizedTtlMs: (given.cacheUnauthorizedRequests ?? true) ? unauthorizedTtlMs : 0,
    onError: failurePolicy === 'Deny' ? 'deny' : 'no opinion',
    matchConditions: conditions.value,
  }
  return { value, errors }
}

const nameErrors = (name: string, seen: ReadonlySet<string>, at: string): FieldError[] => {
  if (name === '') return [required(at)]
  if (seen.has(name)) return [duplicate(at, name)]
  const problems = isDns1123Subdomain(name)
  const text = `authorizer name is invalid: ${problems.join(', ')}`
  return problems.length === 0 ? [] : [invalid(at, name, text)]
}

const knownTypes: readonly string[] = [...builtInAuthorizers, 'Webhook']

const compile = (given: readonly GivenAuthorizer[]): Compiled<AuthorizerConfiguration[]> => {
  const errors: FieldError[] = []
  if (given.length === 0)
    errors.push(required('authorizers', 'at least one authorization mode must be defined'))
  const types = new Set<string>()
  const names = new Set<string>()
  const value = given.flatMap(({ type, name, webhook }, i): AuthorizerConfiguration[] => {
    const at = index('authorizers', i)
    const typeErrors = neededOf(type, knownTypes, child(at, 'type'))
    if (types.has(type) && type !== 'Webhook') typeErrors.push(duplicate(child(at, 'type'), type))
    errors.push(...typeErrors)
    if (typeErrors.length > 0) return []
    types.add(type)
    errors.push(...nameErrors(name, names, child(at, 'name')))
    names.add(name)
    if (type !== 'Webhook') {
      if (webhook)
        errors.push(
          invalid(child(at, 'webhook'), 'non-null', 'may only be specified when type=Webhook'),
        )
      return [{ type: type as BuiltInAuthorizer }]
    }
    if (!webhook) {
      errors.push(required(child(at, 'webhook'), 'required when type=Webhook'))
      return []
    }
    const compiled = compileWebhook(webhook, at)
    errors.push(...compiled.errors)
    return [{ type, webhook: compiled.value }]
  })
  return { value, errors }
}

/** The name of a built-in authorizer is its type. */
const wrongNames = (given: readonly GivenAuthorizer[]): string[] =>
  given
    .filter(({ type, name }) => type !== 'Webhook' && name !== type.toLowerCase())
    .map(
      ({ type, name }) =>
        `expected name ${type.toLowerCase()} for authorizer ${type} instead of ${name}`,
    )

/** Throws an Error with upstream's text. `needed`: types with which the server was started and that must stay. */
export const readAuthorizationConfiguration = (
  text: string,
  needed: readonly BuiltInAuthorizer[] = [],
): readonly AuthorizerConfiguration[] => {
  let given: readonly GivenAuthorizer[]
  try {
    given = decode(text)
  } catch (error) {
    throw new Error(`failed to load ${kind} from file: ${(error as Error).message}`)
  }
  const { value, errors } = compile(given)
  if (errors.length > 0) throw new Error(aggregateMessage(errors))
  const missing = needed.filter((type) => !value.some((one) => one.type === type))
  const problem = aggregate([
    ...wrongNames(given),
    ...(missing.length > 0 ? [`missing required types: [${missing.join(' ')}]`] : []),
  ])
  if (problem !== undefined) throw new Error(problem)
  return value
}
