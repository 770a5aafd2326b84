/**
 * What the plugins can be told, by their names: `pluginConfig` of a KubeSchedulerConfiguration with upstream's defaults
 * (kubescheduler.config.k8s.io/v1, SetDefaults_…Args).
 */
import type { Affinity, TopologySpreadConstraint } from '#client/pod.js'

export interface ResourceWeight {
  readonly name: string
  readonly weight: number
}

/** `score` is of ten for a node of which `utilization` percent are taken. */
export interface ShapePoint {
  readonly utilization: number
  readonly score: number
}

export interface ScoringStrategy {
  readonly type: string
  readonly resources: readonly ResourceWeight[]
  readonly requestedToCapacityRatio?: { readonly shape: readonly ShapePoint[] }
}

export interface PluginArguments {
  readonly DefaultPreemption: {
    readonly minCandidateNodesPercentage: number
    readonly minCandidateNodesAbsolute: number
  }
  readonly DynamicResources: {
    /** A duration. */
    readonly bindingTimeout: string
    readonly filterTimeout: string
  }
  readonly InterPodAffinity: {
    readonly hardPodAffinityWeight: number
    readonly ignorePreferredTermsOfExistingPods: boolean
  }
  readonly NodeAffinity: { readonly addedAffinity?: NonNullable<Affinity['nodeAffinity']> }
  readonly NodeResourcesBalancedAllocation: { readonly resources: readonly ResourceWeight[] }
  readonly NodeResourcesFit: {
    readonly ignoredResources: readonly string[]
    readonly ignoredResourceGroups: readonly string[]
    readonly scoringStrategy: ScoringStrategy
  }
  readonly PodTopologySpread: {
    readonly defaultingType: string
    readonly defaultConstraints: readonly TopologySpreadConstraint[]
  }
  readonly VolumeBinding: { readonly bindTimeoutSeconds: number; readonly shape?: unknown }
}
export type PluginWithArguments = keyof PluginArguments

/** As they stand in a file: each of them may be left out. */
export type GivenArguments = {
  readonly [Name in PluginWithArguments]?: Partial<PluginArguments[Name]>
}

interface GivenWeight {
  readonly name: string
  readonly weight?: number
}

const processorAndMemory: readonly GivenWeight[] = [{ name: 'cpu' }, { name: 'memory' }]

/** What has no weight, or 0, counts once. */
const weighed = (resources: readonly GivenWeight[] = []): readonly ResourceWeight[] =>
  (resources.length === 0 ? processorAndMemory : resources).map(({ name, weight }) => ({
    name,
    weight: weight || 1,
  }))

const strategyOf = (given: Partial<ScoringStrategy> = {}): ScoringStrategy => {
  const { type = 'LeastAllocated', resources, requestedToCapacityRatio: ratio } = given
  const shape = (ratio?.shape ?? []).map(({ utilization = 0, score = 0 }) => ({
    utilization,
    score,
  }))
  return {
    type,
    resources: weighed(resources),
    ...(ratio === undefined ? {} : { requestedToCapacityRatio: { shape } }),
  }
}

/** What is left out is refused like what is empty. */
const nothingAsked = { maxSkew: 0, topologyKey: '', whenUnsatisfiable: '' }

export const argumentsWithDefaults = (given: GivenArguments): PluginArguments => {
  const fit = given.NodeResourcesFit ?? {}
  return {
    DefaultPreemption: {
      minCandidateNodesPercentage: 10,
      minCandidateNodesAbsolute: 100,
      ...given.DefaultPreemption,
    },
    DynamicResources: { bindingTimeout: '600s', filterTimeout: '10s', ...given.DynamicResources },
    InterPodAffinity: {
      hardPodAffinityWeight: 1,
      ignorePreferredTermsOfExistingPods: false,
      ...given.InterPodAffinity,
    },
    NodeAffinity: { ...given.NodeAffinity },
    NodeResourcesBalancedAllocation: {
      resources: weighed(given.NodeResourcesBalancedAllocation?.resources),
    },
    NodeResourcesFit: {
      ignoredResources: fit.ignoredResources ?? [],
      ignoredResourceGroups: fit.ignoredResourceGroups ?? [],
      scoringStrategy: strategyOf(fit.scoringStrategy),
    },
    PodTopologySpread: {
      defaultingType: given.PodTopologySpread?.defaultingType || 'System',
      defaultConstraints: (given.PodTopologySpread?.defaultConstraints ?? []).map((constraint) => ({
        ...nothingAsked,
        ...constraint,
      })),
    },
    VolumeBinding: { bindTimeoutSeconds: 600, ...given.VolumeBinding },
  }
}
