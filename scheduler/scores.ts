/** Which of the nodes that would do is best: each score from 0 to 100, times its weight, as upstream's plugins. */
import { nodePreference } from '#client/node-affinity.js'
import type { Pod } from '#client/pod.js'
import { tolerates } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { imageLocality } from './image-locality.js'
import type { NodeInfo } from './node-info.js'
import { preferencesOf } from './pod-affinity.js'

/** Scores of all candidates, in their order; undefined when it has nothing to say about the Pod. */
export type Score = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  view: ClusterView,
) => number[] | undefined

const relativeToMost = (values: readonly number[], { reverse = false } = {}): number[] => {
  const most = Math.max(0, ...values)
  if (most === 0) return values.map(() => (reverse ? 100 : 0))
  return values.map((value) => {
    const share = Math.trunc((100 * value) / most)
    return reverse ? 100 - share : share
  })
}

export const untoleratedPreferences: Score = (pod, candidates) =>
  relativeToMost(
    candidates.map(
      (info) =>
        (info.node?.spec.taints ?? []).filter(
          (taint) =>
            taint.effect === 'PreferNoSchedule' &&
            !(pod.spec.tolerations ?? []).some((t) => tolerates(t, taint)),
        ).length,
    ),
    { reverse: true },
  )

/** `addedAffinity`: what the scheduler prefers for all of its Pods. */
export const preferredNodes =
  ({ addedAffinity }: PluginArguments['NodeAffinity']): Score =>
  (pod, candidates) =>
    relativeToMost(
      candidates.map(
        ({ node }) =>
          nodePreference(pod.spec.affinity?.nodeAffinity, node!) +
          nodePreference(addedAffinity, node!),
      ),
    )

export const preferredNeighbours =
  (settings: PluginArguments['InterPodAffinity']): Score =>
  (pod, candidates, view) => {
    const preference = preferencesOf(pod, view, settings)
    if (preference === undefined) return undefined
    const values = candidates.map(preference)
    const least = Math.min(...values)
    const range = Math.max(...values) - least
    // Upstream's order of floating point operations: 29 of 100 are 28.
    return values.map((value) => (range === 0 ? 0 : Math.trunc(100 * ((value - least) / range))))
  }

export const images: Score = (pod, candidates, view) => imageLocality(pod, candidates, view.nodes)

export const devices: Score = (_pod, candidates, { deviceFilter }) =>
  deviceFilter &&
  relativeToMost(candidates.map(({ node }) => deviceFilter.preferenceOn(node!.metadata.name)))

export interface WeightedScore {
  readonly of: Score
  readonly weight: number
}

export const totalsOf = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  { view, scores }: { view: ClusterView; scores: readonly WeightedScore[] },
): number[] => {
  const totals = candidates.map(() => 0)
  for (const { of, weight } of scores)
    for (const [i, value] of (of(pod, candidates, view) ?? []).entries())
      totals[i]! += weight * value
  return totals
}

/** Among equals the first, and `candidates` come in a turning order. */
export const bestOf = (
  candidates: readonly NodeInfo[],
  totals: readonly number[],
): NodeInfo | undefined => candidates[totals.indexOf(Math.max(...totals))]
