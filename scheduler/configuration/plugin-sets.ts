/**
 * Which plugins a profile has and what their scores weigh: `plugins` of a KubeSchedulerConfiguration laid over upstream's
 * defaults. Upstream: mergePlugins and expandMultiPointPlugins.
 */
import { UsageError } from '#program/flags.js'

interface Named {
  readonly name: string
  readonly weight?: number
}
interface PluginSet {
  readonly enabled?: readonly Named[]
  readonly disabled?: readonly Named[]
}
export const extensionPoints = [
  'multiPoint',
  'preFilter',
  'filter',
  'postFilter',
  'reserve',
  'preScore',
  'score',
  'preBind',
  'bind',
  'postBind',
  'permit',
  'preEnqueue',
  'queueSort',
  'placementGenerate',
  'placementScore',
] as const
type ExtensionPoint = (typeof extensionPoints)[number]
export type PluginSets = { readonly [Point in ExtensionPoint]?: PluginSet }

/** The points at which a choice makes a difference here: what comes before a filter or a score belongs to it. */
type Part = 'filter' | 'score' | 'postFilter' | 'queueSort' | 'preEnqueue' | 'bind'

/** In upstream's order, with the points that matter here and the weight by default. */
const known: readonly { name: string; parts: readonly Part[]; weight?: number }[] = [
  { name: 'SchedulingGates', parts: ['preEnqueue'] },
  { name: 'PrioritySort', parts: ['queueSort'] },
  { name: 'NodeUnschedulable', parts: ['filter'] },
  { name: 'NodeName', parts: ['filter'] },
  { name: 'TaintToleration', parts: ['filter', 'score'], weight: 3 },
  { name: 'NodeAffinity', parts: ['filter', 'score'], weight: 2 },
  { name: 'NodePorts', parts: ['filter'] },
  { name: 'NodeResourcesFit', parts: ['filter', 'score'], weight: 1 },
  { name: 'VolumeRestrictions', parts: ['filter'] },
  { name: 'NodeVolumeLimits', parts: ['filter'] },
  { name: 'VolumeBinding', parts: ['filter'] },
  { name: 'VolumeZone', parts: ['filter'] },
  { name: 'PodTopologySpread', parts: ['filter', 'score'], weight: 2 },
  { name: 'InterPodAffinity', parts: ['filter', 'score'], weight: 2 },
  { name: 'DynamicResources', parts: ['filter', 'score'], weight: 2 },
  { name: 'DefaultPreemption', parts: ['postFilter'] },
  { name: 'NodeResourcesBalancedAllocation', parts: ['score'], weight: 1 },
  { name: 'ImageLocality', parts: ['score'], weight: 1 },
  { name: 'DefaultBinder', parts: ['bind'] },
  { name: 'NodeDeclaredFeatures', parts: ['filter'] },
]
const partsOf = new Map(known.map(({ name, parts }) => [name, parts]))

/** What every scheduler here does: without it a Pod would be lost, or its claims. */
const indispensable: readonly (readonly [part: Part, name: string])[] = [
  ['preEnqueue', 'SchedulingGates'],
  ['queueSort', 'PrioritySort'],
  ['filter', 'VolumeRestrictions'],
  ['filter', 'NodeVolumeLimits'],
  ['filter', 'VolumeBinding'],
  ['filter', 'VolumeZone'],
  ['filter', 'DynamicResources'],
  ['bind', 'DefaultBinder'],
]

/** Of the sum of weights, each of which is multiplied by a score of 100. */
const greatestTotal = 2n ** 63n - 1n

const namesOf = (list: readonly Named[] = []): string[] => list.map(({ name }) => name)

const multiPointOf = ({ enabled = [], disabled = [] }: PluginSet = {}): readonly Named[] => {
  const off = new Set(namesOf(disabled))
  const given = new Map(enabled.map((plugin) => [plugin.name, plugin]))
  const kept = off.has('*') ? [] : known.filter(({ name }) => !off.has(name))
  const replaced = new Set(namesOf(kept))
  return [
    ...kept.map((plugin) => given.get(plugin.name) ?? plugin),
    ...enabled.filter(({ name }) => !replaced.has(name)),
  ]
}

/** `filter` is implemented by a FilterPlugin. */
const typeOf = (point: string): string => `${point[0]!.toUpperCase()}${point.slice(1)}Plugin`

const checkNames = (sets: PluginSets): void => {
  for (const point of extensionPoints) {
    const type = typeOf(point === 'multiPoint' ? 'preFilter' : point)
    const seen = new Set<string>()
    for (const { name } of sets[point]?.enabled ?? []) {
      const parts: readonly string[] | undefined = partsOf.get(name)
      if (parts === undefined) throw new UsageError(`${type} "${name}" does not exist`)
      const isForeign = ['filter', 'score', 'postFilter'].includes(point) && !parts.includes(point)
      if (isForeign) throw new UsageError(`plugin "${name}" does not extend ${type} plugin`)
      if (seen.has(name)) throw new UsageError(`plugin "${name}" already registered as "${type}"`)
      seen.add(name)
    }
  }
}

export interface ChosenPlugins {
  readonly filters: ReadonlySet<string>
  /** Name → weight. */
  readonly scores: ReadonlyMap<string, number>
  readonly preempts: boolean
}

/** Throws a UsageError, in upstream's words where it knows the mistake. */
export const choosePlugins = (sets: PluginSets = {}): ChosenPlugins => {
  checkNames(sets)
  const everywhere = multiPointOf(sets.multiPoint)
  const at = (part: Part): Set<string> => {
    const { enabled, disabled } = sets[part] ?? {}
    const off = new Set(namesOf(disabled))
    const spread = off.has('*') ? [] : namesOf(everywhere).filter((name) => !off.has(name))
    return new Set([...namesOf(enabled), ...spread.filter((name) => isPart(name, part))])
  }
  for (const [part, name] of indispensable)
    if (!at(part).has(name)) throw new UsageError(`${name} cannot be disabled here`)
  const scores = weightsOf(at('score'), [...(sets.score?.enabled ?? []), ...everywhere])
  return { filters: at('filter'), scores, preempts: at('postFilter').has('DefaultPreemption') }
}

const isPart = (name: string, part: Part): boolean => partsOf.get(name)?.includes(part) ?? false

/** What stands first in `plugins` says what a score weighs. */
const weightsOf = (
  scores: ReadonlySet<string>,
  plugins: readonly Named[],
): ReadonlyMap<string, number> => {
  const weights = new Map<string, number>()
  let total = 0n
  for (const { name, weight } of plugins) {
    if (!scores.has(name) || weights.has(name)) continue
    weights.set(name, weight || 1)
    total += BigInt(weight || 1) * 100n
  }
  if (total > greatestTotal)
    throw new UsageError('score plugins: total score of Score plugins could overflow')
  return weights
}
