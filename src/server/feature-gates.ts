/** Feature gates of v1.36, and which of them have an effect here (component-base, featuregate). */
import { aggregate } from '#go/aggregate.js'
import { goBooleanProblem, parseGoBoolean } from '#go/boolean.js'
import { enablement } from '#openapi/schemas.js'

interface FeatureGate {
  readonly name: string
  /** ALPHA, BETA, DEPRECATED, or empty once it is for everybody. */
  readonly stage: string
  readonly enabled: boolean
}

/** Gates that have an effect here; all others are fixed to their defaults. */
const switched = [
  'APIServerIdentity',
  'ComponentFlagz',
  'ComponentStatusz',
  'MutatingAdmissionPolicy',
  'PodTopologyLabelsAdmission',
] as const
export type SwitchedGate = (typeof switched)[number]

const stages: Readonly<Record<string, string>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' }

/** `Name=true,kube:Other=false`, part by part. Throws an Error in kube-apiserver's words. */
export const parseFeatureGates = (parts: readonly string[]): Record<string, boolean> => {
  const given: Record<string, boolean> = {}
  const prefixes = new Set<boolean>()
  for (const part of parts.map((one) => one.trim()).filter(Boolean)) {
    const [, component, name = '', value] = /^(?:([^:=]*):)?([^=]*)(?:=(.*))?$/s.exec(part)!
    if (component !== undefined && component !== 'kube')
      throw new Error(`component not registered: ${component}`)
    prefixes.add(component === undefined)
    if (value === undefined) throw new Error(`missing bool value for ${name}`)
    const enabled = parseGoBoolean(value.trim())
    if (enabled === undefined)
      throw new Error(`invalid value of ${name}=${value}, err: ${goBooleanProblem(value)}`)
    given[name] = enabled
  }
  if (prefixes.size > 1)
    throw new Error(
      'set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use',
    )
  return given
}

/** Throws an Error for gates that are unknown or can no longer be switched. */
const check = (given: Readonly<Record<string, boolean>>): void => {
  const known = enablement().featureGates
  const problem = aggregate(
    Object.entries(given).flatMap(([name, enabled]) => {
      if (!Object.hasOwn(known, name)) throw new Error(`unrecognized feature gate: ${name}`)
      const [, byDefault, isLocked] = known[name]!
      return isLocked && enabled !== byDefault
        ? [`cannot set feature gate ${name} to ${enabled}, feature is locked to ${byDefault}`]
        : []
    }),
  )
  if (problem !== undefined) throw new Error(problem)
}

export class FeatureGates {
  /** Settings that differ from the defaults, by name. */
  readonly #set = new Map<string, boolean>()
  /** Given gates that differ from their default but have no effect here. */
  readonly ignored: readonly string[]

  /** Throws an Error in kube-apiserver's words. */
  constructor(given: Readonly<Record<string, boolean>> = {}) {
    const names = Object.keys(given)
    if (names.length > 0) check(given)
    const known = names.length > 0 ? enablement().featureGates : {}
    for (const name of switched) {
      if (!Object.hasOwn(known, name)) continue
      const [stage, byDefault] = known[name]!
      const all = Object.keys(stages).find((one) => stages[one] === stage)
      const enabled = given[name] ?? (all === undefined ? undefined : given[all])
      if (enabled !== undefined && enabled !== byDefault) this.#set.set(name, enabled)
    }
    this.ignored = names.filter((name) => given[name] !== known[name]![1] && !this.#set.has(name))
  }

  enabled(name: SwitchedGate): boolean {
    // All of them are on by default, so the table need not be read.
    return this.#set.get(name) ?? true
  }

  /** All that there are. */
  get all(): FeatureGate[] {
    return Object.entries(enablement().featureGates).map(([name, [stage, byDefault]]) => ({
      name,
      stage,
      enabled: this.#set.get(name) ?? byDefault,
    }))
  }
}
