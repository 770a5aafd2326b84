/** What a scheduler takes into account for the Pods that name it. Upstream: a profile, and its framework. */
import { durationMs } from '#go/duration.js'
import type { ConfiguredProfile } from './configuration/configured-profile.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { declaredFeatures } from './declared-features.js'
import { fit, nodeAffinity, nodeName, nodeUnschedulable, ports, taints } from './filters.js'
import { podAffinityFilter } from './pod-affinity-filter.js'
import type { Prepare } from './prepare.js'
import { allocation, balanced } from './resource-scores.js'
import {
  devices,
  images,
  preferredNeighbours,
  preferredNodes,
  type Score,
  untoleratedPreferences,
  type WeightedScore,
} from './scores.js'
import { spreadScores } from './topology-spread.js'
import { spreadFilter } from './topology-spread-filter.js'

export interface Profile {
  readonly schedulerName: string
  readonly filters: readonly Prepare[]
  readonly scores: readonly WeightedScore[]
  /** Nodes that the Pod's affinity names are the only ones that are looked at. */
  readonly looksAtNamesFirst: boolean
  /** How many nodes that would do are enough, for `nodesToFind`. */
  readonly percentageOfNodesToScore: number
  /** Others are sent away for Pods of higher priority. */
  readonly preempts: boolean
  /** How long volumes of a Pod, and drivers of its devices, have to become ready. */
  readonly volumeTimeoutMs: number
  readonly deviceTimeoutMs: number
}

/** The filters in upstream's order. */
const filtersOf = (args: PluginArguments): readonly (readonly [plugin: string, Prepare])[] => [
  ['NodeUnschedulable', nodeUnschedulable],
  ['NodeName', nodeName],
  ['TaintToleration', taints],
  ['NodeAffinity', nodeAffinity(args.NodeAffinity)],
  ['NodePorts', ports],
  ['NodeResourcesFit', fit(args.NodeResourcesFit)],
  // And NodeVolumeLimits, VolumeBinding and VolumeZone.
  ['VolumeRestrictions', (_pod, { volumeFilter }) => volumeFilter],
  ['PodTopologySpread', spreadFilter(args.PodTopologySpread)],
  ['InterPodAffinity', podAffinityFilter],
  ['DynamicResources', (_pod, { deviceFilter }) => deviceFilter],
  ['NodeDeclaredFeatures', declaredFeatures],
]

const scoresOf = (args: PluginArguments): readonly (readonly [plugin: string, Score])[] => [
  ['NodeResourcesFit', allocation(args.NodeResourcesFit.scoringStrategy)],
  ['NodeResourcesBalancedAllocation', balanced(args.NodeResourcesBalancedAllocation.resources)],
  ['TaintToleration', untoleratedPreferences],
  ['NodeAffinity', preferredNodes(args.NodeAffinity)],
  ['InterPodAffinity', preferredNeighbours(args.InterPodAffinity)],
  ['PodTopologySpread', spreadScores(args.PodTopologySpread)],
  ['ImageLocality', images],
  ['DynamicResources', devices],
]

export const makeProfile = ({
  schedulerName,
  percentageOfNodesToScore,
  plugins,
  args,
}: ConfiguredProfile): Profile => ({
  schedulerName,
  percentageOfNodesToScore,
  filters: filtersOf(args).flatMap(([name, filter]) => (plugins.filters.has(name) ? filter : [])),
  scores: scoresOf(args).flatMap(([name, of]) => {
    const weight = plugins.scores.get(name)
    return weight === undefined ? [] : { of, weight }
  }),
  looksAtNamesFirst: plugins.filters.has('NodeAffinity'),
  preempts: plugins.preempts,
  volumeTimeoutMs: args.VolumeBinding.bindTimeoutSeconds * 1_000,
  deviceTimeoutMs: durationMs(args.DynamicResources.bindingTimeout),
})
