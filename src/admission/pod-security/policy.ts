/** Which Pod Security Standards hold in a namespace: its labels, and what the cluster says where it has none (pod-security-admission, api/helpers.go). */
import { type FieldError, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { parseInt64 } from '#json/int64.js'

export const labelPrefix = 'pod-security.kubernetes.io/'
export const privileged = 'privileged'
const levels = [privileged, 'baseline', 'restricted']
export const modes = ['enforce', 'audit', 'warn'] as const
export type Mode = (typeof modes)[number]

export interface LevelVersion {
  readonly level: string
  readonly version: string
}

export type Policy = Readonly<Record<Mode, LevelVersion>>

/** What applies to a namespace without labels, and what is exempt. */
export interface PodSecuritySettings {
  readonly defaults: Policy
  readonly usernames: readonly string[]
  readonly namespaces: readonly string[]
  readonly runtimeClasses: readonly string[]
}

const allowsEverything: LevelVersion = { level: privileged, version: 'latest' }

export const defaultSettings: PodSecuritySettings = {
  defaults: { enforce: allowsEverything, audit: allowsEverything, warn: allowsEverything },
  usernames: [],
  namespaces: [],
  runtimeClasses: [],
}

export const levelProblem = (level: string): string | undefined =>
  levels.includes(level) ? undefined : `must be one of ${levels.join(', ')}`

const isVersion = (version: string): boolean =>
  /^v1\.(?:0|[1-9]\d*)$/.test(version) && parseInt64(version.slice('v1.'.length)) !== undefined

export const versionProblem = (version: string): string | undefined =>
  version === 'latest' || isVersion(version) ? undefined : 'must be "latest" or "v1.x"'

export const minorOf = (version: string): number =>
  version === 'latest' ? Number.POSITIVE_INFINITY : Number(version.slice('v1.'.length))

export const isStricter = (one: string, other: string): boolean =>
  levels.indexOf(one) > levels.indexOf(other)

export const isSame = (a: LevelVersion, b: LevelVersion): boolean =>
  a.level === b.level && a.version === b.version

export const isPrivileged = ({ level }: LevelVersion): boolean => level === privileged

export const allowsAll = (policy: Policy): boolean =>
  modes.every((mode) => isPrivileged(policy[mode]))

export const printed = ({ level, version }: LevelVersion): string => `${level}:${version}`

type Labels = Readonly<Record<string, string>>

const labelOf = (labels: Labels, mode: Mode): Partial<LevelVersion> => ({
  level: labels[labelPrefix + mode],
  version: labels[`${labelPrefix + mode}-version`],
})

const levelVersion = (labels: Labels, mode: Mode, otherwise: LevelVersion): LevelVersion => {
  const { level = otherwise.level, version = otherwise.version } = labelOf(labels, mode)
  // An unreadable label counts as restricted for enforce, and as privileged for audit and warn.
  const unreadable = mode === 'enforce' ? 'restricted' : privileged
  return {
    level: levelProblem(level) === undefined ? level : unreadable,
    version: versionProblem(version) === undefined ? version : 'latest',
  }
}

export const policyOf = ({ metadata }: KubeObject, defaults: Policy): Policy => {
  const { labels = {} } = metadata
  const enforce = levelVersion(labels, 'enforce', defaults.enforce)
  const warn = levelVersion(labels, 'warn', defaults.warn)
  const audit = levelVersion(labels, 'audit', defaults.audit)
  const own = labelOf(labels, 'warn')
  const isEnforcing = levelProblem(labelOf(labels, 'enforce').level ?? '') === undefined
  if (own.level !== undefined || !isEnforcing || !isStricter(enforce.level, warn.level))
    return { enforce, audit, warn }
  // With an enforce label and no warn label, warnings follow enforce.
  const { version } = own.version === undefined ? enforce : warn
  return { enforce, audit, warn: { level: enforce.level, version } }
}

export const labelErrors = ({ metadata: { labels = {} } }: KubeObject): FieldError[] =>
  modes.flatMap((mode) => {
    const path = (name: string): string => `metadata.labels[${labelPrefix}${name}]`
    const { level, version } = labelOf(labels, mode)
    const problems = [
      [mode, level, level === undefined ? undefined : levelProblem(level)],
      [`${mode}-version`, version, version === undefined ? undefined : versionProblem(version)],
    ] as const
    return problems.flatMap(([name, value, why]) =>
      why === undefined ? [] : [invalid(path(name), value, why)],
    )
  })

/** What an exempt namespace asks for in vain; undefined for nothing. */
export const ignoredPolicy = (
  namespace: KubeObject,
  policy: Policy,
  { defaults }: PodSecuritySettings,
): string | undefined => {
  const isDefault = modes.every(
    (mode) =>
      isSame(policy[mode], defaults[mode]) ||
      (isPrivileged(policy[mode]) && isPrivileged(defaults[mode])),
  )
  if (allowsAll(policy) || isDefault) return undefined
  const { name = '', labels = {} } = namespace.metadata
  const asked = modes.filter((mode) => {
    const { level, version } = labelOf(labels, mode)
    return !isPrivileged(policy[mode]) && (level !== undefined || version !== undefined)
  })
  const shown = asked.map((mode) => `${mode}=${printed(policy[mode])}`).join(', ')
  return `namespace ${goQuote(name)} is exempt from Pod Security, and the policy (${shown}) will be ignored`
}
