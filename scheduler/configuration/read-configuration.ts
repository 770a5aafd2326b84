/**
 * `--config FILE`: a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). Mistakes are told in upstream's
 * words where they are about values.
 */
import { child, duplicate, type FieldError, index, invalid, required } from '#api/field-error.js'
import { aggregate } from '#go/aggregate.js'
import { durationProblem } from '#go/duration.js'
import { loadFindMistakes, readYamlFile } from '#program/configuration-file.js'
import { UsageError } from '#program/flags.js'
import { type ConfiguredProfile, configureProfile } from './configured-profile.js'
import {
  type ConfiguredExtender,
  configureExtenders,
  extenderErrors,
  type GivenExtender,
  ignoredResourcesOf,
} from './extenders.js'
import { argumentsWithDefaults, type GivenArguments } from './plugin-arguments.js'
import type { PluginSets } from './plugin-sets.js'
import { argumentsSchema, configurationSchema } from './schema.js'
import { validateArguments } from './validate-arguments.js'

export interface Backoff {
  readonly initialMs: number
  readonly longestMs: number
}

export interface SchedulerConfiguration {
  readonly profiles: readonly ConfiguredProfile[]
  /** In the order in which they are asked. */
  readonly extenders: readonly ConfiguredExtender[]
  readonly backoff: Backoff
  /** What it says of flags, by their names. */
  readonly flags: Readonly<Record<string, string>>
}

interface GivenProfile {
  schedulerName?: string
  percentageOfNodesToScore?: number
  plugins?: PluginSets
  pluginConfig?: { name?: string; args?: object }[]
}

/** The file as its schema lets it pass. */
interface Given {
  clientConnection?: { kubeconfig?: string }
  leaderElection?: Record<string, string | boolean>
  parallelism?: number
  percentageOfNodesToScore?: number
  podInitialBackoffSeconds?: number
  podMaxBackoffSeconds?: number
  profiles?: GivenProfile[]
  extenders?: GivenExtender[]
}

/** Checks a value against a schema; `path` is where it stands in the file. */
type Check = (schema: object, value: unknown, path?: string) => void

/** `/profiles/0/plugins` → `profiles[0].plugins`. */
const fieldAt = (pointer: string, path: string): string =>
  pointer
    .split('/')
    .slice(1)
    .reduce((at, name) => (/^\d+$/.test(name) ? index(at, name) : child(at, name)), path)

const loadCheck = async (): Promise<Check> => {
  const findMistakes = await loadFindMistakes()
  return (schema, value, path = '') => {
    const mistakes = findMistakes(schema, value).map(({ at, message, unknown }) => {
      const field = fieldAt(at, path)
      return unknown === undefined
        ? `${field || 'the file'} ${message}`
        : `unknown field "${child(field, unknown)}"`
    })
    if (mistakes.length > 0) throw new UsageError(`strict decoding error: ${mistakes.join(', ')}`)
  }
}

const checkKind = (value: unknown): void => {
  const { apiVersion = '', kind = '' } = Object(value) as { apiVersion?: unknown; kind?: unknown }
  if (apiVersion !== 'kubescheduler.config.k8s.io/v1' || kind !== 'KubeSchedulerConfiguration')
    throw new UsageError(`no kind "${kind}" is registered for version "${apiVersion}"`)
}

/** A field that is null is one that is not there. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => [name, withoutNulls(inner)]),
  )
}

const percentageErrors = (percentage: number | undefined, path: string): FieldError[] =>
  percentage !== undefined && (percentage < 0 || percentage > 100)
    ? [invalid(path, percentage, 'not in valid range [0-100]')]
    : []

const argumentsOf = ({ pluginConfig = [] }: GivenProfile, path: string, check: Check) => {
  const errors: FieldError[] = []
  const given: Record<string, object> = {}
  for (const [at, { name = '', args = {} }] of pluginConfig.entries()) {
    const own = index(child(path, 'pluginConfig'), at)
    const schema = argumentsSchema(name)
    // As upstream, what no plugin here reads may stand there.
    if (schema === undefined) continue
    if (Object.hasOwn(given, name)) errors.push(duplicate(own, name))
    check(schema, args, child(own, 'args'))
    given[name] = args
    const complete = argumentsWithDefaults({ [name]: args })
    const plugin = name as keyof GivenArguments
    errors.push(...validateArguments(plugin, complete[plugin], child(own, 'args')))
  }
  return { given: given as GivenArguments, errors }
}

const backoffErrors = (initial: number, longest: number): FieldError[] => [
  ...(initial <= 0 ? [invalid('podInitialBackoffSeconds', initial, 'must be greater than 0')] : []),
  ...(longest < initial
    ? [
        invalid(
          'podMaxBackoffSeconds',
          longest,
          'must be greater than or equal to PodInitialBackoffSeconds',
        ),
      ]
    : []),
]

const defaultBackoff = { podInitialBackoffSeconds: 1, podMaxBackoffSeconds: 10 }

const backoffOf = (initial: number, longest: number): Backoff => ({
  initialMs: initial * 1_000,
  longestMs: longest * 1_000,
})

const electionFlags: Readonly<Record<string, string>> = {
  leaderElect: 'leader-elect',
  leaseDuration: 'leader-elect-lease-duration',
  renewDeadline: 'leader-elect-renew-deadline',
  retryPeriod: 'leader-elect-retry-period',
  resourceLock: 'leader-elect-resource-lock',
  resourceName: 'leader-elect-resource-name',
  resourceNamespace: 'leader-elect-resource-namespace',
}

const flagsIn = ({ clientConnection, leaderElection = {} }: Given): Record<string, string> => {
  const { kubeconfig } = clientConnection ?? {}
  for (const name of ['leaseDuration', 'renewDeadline', 'retryPeriod']) {
    const problem = durationProblem(String(leaderElection[name] ?? '0s'))
    if (problem !== undefined) throw new UsageError(`leaderElection.${name}: ${problem}`)
  }
  const { resourceLock = 'leases' } = leaderElection
  if (resourceLock !== 'leases')
    throw new UsageError(
      `leaderElection.resourceLock: Invalid value: "${resourceLock}": resourceLock value must be "leases"`,
    )
  return {
    ...(kubeconfig ? { kubeconfig } : {}),
    ...Object.fromEntries(
      Object.entries(leaderElection).map(([name, value]) => [electionFlags[name]!, String(value)]),
    ),
  }
}

/** What extenders look after takes the place of what the profile names. Upstream: buildExtenders. */
const withIgnored = (args: GivenArguments, ignoredResources: readonly string[]): GivenArguments =>
  ignoredResources.length === 0
    ? args
    : { ...args, NodeResourcesFit: { ...args.NodeResourcesFit, ignoredResources } }

const configurationOf = (given: Given, check: Check): SchedulerConfiguration => {
  const { podInitialBackoffSeconds: initial, podMaxBackoffSeconds: longest } = {
    ...defaultBackoff,
    ...given,
  }
  const profiles = given.profiles?.length ? given.profiles : [{}]
  const errors: FieldError[] = []
  if ((given.parallelism ?? 1) <= 0)
    errors.push(
      invalid('parallelism', given.parallelism, 'should be an integer value greater than zero'),
    )
  const names = profiles.map(
    ({ schedulerName }) => schedulerName ?? (profiles.length === 1 ? 'default-scheduler' : ''),
  )
  const read = profiles.map((profile, at) => {
    const path = index('profiles', at)
    const name = names[at]!
    const namePath = child(path, 'schedulerName')
    if (name === '') errors.push(required(namePath))
    errors.push(
      ...percentageErrors(
        profile.percentageOfNodesToScore,
        child(path, 'percentageOfNodesToScore'),
      ),
    )
    const { given: args, errors: wrong } = argumentsOf(profile, path, check)
    errors.push(...wrong)
    if (name !== '' && names.indexOf(name) < at) errors.push(duplicate(namePath, name))
    const percentageOfNodesToScore =
      profile.percentageOfNodesToScore ?? given.percentageOfNodesToScore
    return { name, percentageOfNodesToScore, plugins: profile.plugins, args }
  })
  errors.push(
    ...percentageErrors(given.percentageOfNodesToScore, 'percentageOfNodesToScore'),
    ...backoffErrors(initial, longest),
  )
  errors.push(...extenderErrors(given.extenders ?? []))
  const problem = aggregate(errors.map(({ field, body }) => `${field}: ${body}`))
  if (problem !== undefined) throw new UsageError(problem)
  const { extenders = [] } = given
  return {
    extenders: configureExtenders(extenders),
    profiles: read.map(({ name, args, ...profile }) =>
      inProfile(name, () =>
        configureProfile(name, {
          ...profile,
          args: withIgnored(args, ignoredResourcesOf(extenders)),
        }),
      ),
    ),
    backoff: backoffOf(initial, longest),
    flags: flagsIn(given),
  }
}

const inProfile = <T>(name: string, make: () => T): T => {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(
      `initializing profiles: creating profile for scheduler name ${name}: ${error.message}`,
    )
  }
}

/** Throws a UsageError that names the file and what is wrong in it. */
export const readConfiguration = async (file: string): Promise<SchedulerConfiguration> => {
  try {
    const check = await loadCheck()
    const value = withoutNulls(await readYamlFile(file))
    checkKind(value)
    check(configurationSchema, value)
    return configurationOf(value as Given, check)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`--config: ${file}: ${error.message}`)
  }
}

/** Without a file. */
export const defaultConfiguration = (schedulerName: string): SchedulerConfiguration => ({
  profiles: [configureProfile(schedulerName)],
  extenders: [],
  backoff: backoffOf(defaultBackoff.podInitialBackoffSeconds, defaultBackoff.podMaxBackoffSeconds),
  flags: {},
})
