/** Which of the nodes that would do is best: each score from 0 to 100, times its weight, as upstream's plugins. */
import { nodePreference } from '#client/node-affinity.js'
import type { Pod } from '#client/pod.js'
import { tolerates } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import type { ClusterView } from './cluster-state.js'
import { imageLocality } from './image-locality.js'
import { amountOf, type NodeInfo, placeholderRequests } from './node-info.js'
import { preferencesOf } from './pod-affinity.js'
import { spreadScores } from './topology-spread.js'

/** Scores of all candidates, in their order; undefined when it has nothing to say about the Pod. */
type Score = (pod: Pod, candidates: readonly NodeInfo[], view: ClusterView) => number[] | undefined

const resourceNames = ['cpu', 'memory'] as const

/**
 * A container that asks for nothing counts as a little, so that such Pods are spread too. What the Pod asks for as a
 * whole does not count here, as upstream's scorer is made without that feature.
 */
const leastAllocated: Score = ({ spec }, candidates) => {
  const asked = placeholderRequests({ spec: { ...spec, resources: {} } })
  return candidates.map((info) => {
    const shares = resourceNames.flatMap((name) => {
      const offered = amountOf(info.allocatable, name)
      if (offered === 0n) return []
      const taken = amountOf(info.placeholders, name) + amountOf(asked, name)
      return [taken > offered ? 0 : Number(((offered - taken) * 100n) / offered)]
    })
    return shares.length === 0 ? 0 : Math.trunc(shares.reduce((a, b) => a + b, 0) / shares.length)
  })
}

/** Nodes that the Pod makes more even in processor and memory are better than those it makes less so. */
const balanced: Score = (pod, candidates) => {
  const asked = podRequests(pod)
  if (resourceNames.every((name) => amountOf(asked, name) === 0n)) return undefined
  return candidates.map((info) => {
    const evenness = (extra: ReadonlyMap<string, bigint>): number => {
      const fractions = resourceNames.flatMap((name) => {
        const offered = Number(amountOf(info.allocatable, name))
        if (offered === 0) return []
        const taken = amountOf(info.requested, name) + amountOf(extra, name)
        return [Math.min(1, Number(taken) / offered)]
      })
      const deviation = fractions.length < 2 ? 0 : Math.abs(fractions[0]! - fractions[1]!) / 2
      return Math.trunc((1 - deviation) * 100)
    }
    return 50 + Math.trunc((50 + evenness(asked) - evenness(new Map())) / 2)
  })
}

const relativeToMost = (values: readonly number[], { reverse = false } = {}): number[] => {
  const most = Math.max(0, ...values)
  if (most === 0) return values.map(() => (reverse ? 100 : 0))
  return values.map((value) => {
    const share = Math.trunc((100 * value) / most)
    return reverse ? 100 - share : share
  })
}

const untoleratedPreferences: Score = (pod, candidates) =>
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

const nodeAffinity: Score = (pod, candidates) =>
  relativeToMost(candidates.map((info) => nodePreference(pod, info.node!)))

const podAffinity: Score = (pod, candidates, view) => {
  const preference = preferencesOf(pod, view)
  if (preference === undefined) return undefined
  const values = candidates.map(preference)
  const least = Math.min(...values)
  const range = Math.max(...values) - least
  return values.map((value) => (range === 0 ? 0 : Math.trunc((100 * (value - least)) / range)))
}

const images: Score = (pod, candidates, view) => imageLocality(pod, candidates, view.nodes)

const devices: Score = (_pod, candidates, { deviceFilter }) =>
  deviceFilter &&
  relativeToMost(candidates.map(({ node }) => deviceFilter.preferenceOn(node!.metadata.name)))

const scores: readonly { of: Score; weight: number }[] = [
  { of: leastAllocated, weight: 1 },
  { of: balanced, weight: 1 },
  { of: untoleratedPreferences, weight: 3 },
  { of: nodeAffinity, weight: 2 },
  { of: podAffinity, weight: 2 },
  { of: spreadScores, weight: 2 },
  { of: images, weight: 1 },
  { of: devices, weight: 2 },
]

/** The best node; among equals the first, and `candidates` come in a turning order. */
export const pickBest = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  view: ClusterView,
): NodeInfo | undefined => {
  if (candidates.length < 2) return candidates[0]
  const totals = candidates.map(() => 0)
  for (const { of, weight } of scores)
    for (const [i, value] of (of(pod, candidates, view) ?? []).entries())
      totals[i]! += weight * value
  return candidates[totals.indexOf(Math.max(...totals))]
}
