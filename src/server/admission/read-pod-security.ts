/** PodSecurityConfiguration (pod-security-admission, admission/api). */
import {
  type LevelVersion,
  levelProblem,
  type Mode,
  modes,
  type PodSecuritySettings,
  type Policy,
  versionProblem,
} from '#admission/pod-security/policy.js'
import { aggregateMessage } from '#api/errors.js'
import { duplicate, type FieldError, index, invalid } from '#api/field-error.js'
import { dnsLabelName, dnsSubdomainName } from '#api/names.js'
import { aggregate } from '#go/aggregate.js'
import { decodeConfiguration } from '#registry/decode-configuration.js'
import { UnusableConfiguration } from './plugin-configuration.js'

interface Configuration {
  readonly defaults: Readonly<Partial<Record<Mode | `${Mode}-version`, string>>>
  readonly exemptions: Partial<Omit<PodSecuritySettings, 'defaults'>>
}

const type = 'config.v1.PodSecurityConfiguration'
const group = 'pod-security.admission.config.k8s.io'
const types = {
  [`${group}/v1 PodSecurityConfiguration`]: type,
  [`${group}/v1beta1 PodSecurityConfiguration`]: type,
  [`${group}/v1alpha1 PodSecurityConfiguration`]: type,
}

const policyOf = (defaults: Configuration['defaults']): Policy => {
  const given = (mode: Mode): LevelVersion => ({
    level: defaults[mode] || 'privileged',
    version: defaults[`${mode}-version`] || 'latest',
  })
  const policy = { enforce: given('enforce'), audit: given('audit'), warn: given('warn') }
  const problems = modes.flatMap((mode) => [
    [mode, levelProblem(policy[mode].level)] as const,
    [`${mode}-version`, versionProblem(policy[mode].version)] as const,
  ])
  const why = aggregate(
    problems.flatMap(([field, problem]) => (problem === undefined ? [] : [`${field}: ${problem}`])),
  )
  if (why !== undefined) throw new UnusableConfiguration(`PodSecurity configuration error: ${why}`)
  return policy
}

const listErrors = (
  path: string,
  values: readonly string[],
  problemsOf: (value: string) => readonly string[],
): FieldError[] =>
  values.flatMap((value, i) => {
    const problems = problemsOf(value)
    if (problems.length > 0) return [invalid(index(path, i), value, problems.join(', '))]
    return values.indexOf(value) < i ? [duplicate(index(path, i), value)] : []
  })

/** Throws an Error. */
export const readPodSecurity = (text: string): PodSecuritySettings => {
  const { defaults, exemptions } = decodeConfiguration<Configuration>(text, types).value
  const policy = policyOf(defaults)
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions
  const errors = [
    ...listErrors('exemptions.namespaces', namespaces, (name) => dnsLabelName(name, false)),
    ...listErrors('exemptions.runtimeClasses', runtimeClasses, (n) => dnsSubdomainName(n, false)),
    ...listErrors('exemptions.usernames', usernames, (name) =>
      name === '' ? ['username must not be empty'] : [],
    ),
  ]
  if (errors.length > 0)
    throw new UnusableConfiguration(`PodSecurity invalid: ${aggregateMessage(errors)}`)
  return { defaults: policy, usernames, namespaces, runtimeClasses }
}
