/** Which of the nodes that would do is best: each score from 0 to 100, times its weight, as upstream's plugins. */
import { parseMilli } from '#client/amount.js'
import { nodePreference } from '#client/node-affinity.js'
import type { Pod } from '#client/pod.js'
import { tolerates } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import type { NodeInfo } from './node-info.js'
import { type ClusterView, podPreference } from './pod-affinity.js'
import { spreadCost } from './topology-spread.js'

type Raw = (pod: Pod, info: NodeInfo, view: ClusterView) => number
interface Score {
  raw: Raw
  weight: number
  /** How raw values of all nodes become 0 to 100: as they are, the larger or the smaller the better. */
  normalize: 'none' | 'larger' | 'smaller'
}

/** A Pod that asks for nothing counts as this much, so that such Pods are spread too. As upstream. */
const cpuFloorMilli = 100n
const memoryFloorMilli = parseMilli('200M')

const freeShare = (pod: Pod, info: NodeInfo, name: string, floor: bigint): number | undefined => {
  const offered = info.allocatable.get(name) ?? 0n
  if (offered === 0n) return undefined
  const asked = (podRequests(pod).get(name) ?? 0n) || floor
  const taken = (info.requested.get(name) ?? 0n) + floor * BigInt(info.pods.size) + asked
  return Math.max(0, Number(((offered - taken) * 10_000n) / offered) / 10_000)
}

const shares = (pod: Pod, info: NodeInfo): number[] =>
  [
    freeShare(pod, info, 'cpu', cpuFloorMilli),
    freeShare(pod, info, 'memory', memoryFloorMilli),
  ].filter((share) => share !== undefined)

const leastAllocated: Raw = (pod, info) => {
  const free = shares(pod, info)
  return free.length === 0 ? 0 : (100 * free.reduce((a, b) => a + b, 0)) / free.length
}
const balanced: Raw = (pod, info) => {
  const free = shares(pod, info)
  return free.length < 2 ? 100 : 100 * (1 - Math.abs(free[0]! - free[1]!) / 2)
}
const untoleratedPreferences: Raw = (pod, info) =>
  (info.node?.spec.taints ?? []).filter(
    (taint) =>
      taint.effect === 'PreferNoSchedule' &&
      !(pod.spec.tolerations ?? []).some((t) => tolerates(t, taint)),
  ).length

/** Siblings of the same owner on the node: what upstream's default spread constraints come to on nodes. */
const siblings: Raw = (pod, info) => {
  const owner = pod.metadata.ownerReferences?.find((o) => o.controller)?.uid
  if (owner === undefined) return 0
  let count = 0
  for (const other of info.pods.values())
    if (other.metadata.ownerReferences?.some((o) => o.uid === owner)) count++
  return count
}

const scores: readonly Score[] = [
  { raw: leastAllocated, weight: 1, normalize: 'none' },
  { raw: balanced, weight: 1, normalize: 'none' },
  { raw: untoleratedPreferences, weight: 3, normalize: 'smaller' },
  { raw: (pod, info) => nodePreference(pod, info.node!), weight: 2, normalize: 'larger' },
  { raw: podPreference, weight: 2, normalize: 'larger' },
  { raw: spreadCost, weight: 2, normalize: 'smaller' },
  { raw: siblings, weight: 2, normalize: 'smaller' },
]

const normalized = (values: number[], how: Score['normalize']): number[] => {
  if (how === 'none') return values
  const min = Math.min(...values)
  const range = Math.max(...values) - min
  if (range === 0) return values.map(() => 0)
  return values.map((v) => (100 * (how === 'larger' ? v - min : range - (v - min))) / range)
}

/** The best node; among equals the first, and `candidates` come in a turning order. */
export const pickBest = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  view: ClusterView,
): NodeInfo | undefined => {
  if (candidates.length < 2) return candidates[0]
  const totals = candidates.map(() => 0)
  for (const { raw, weight, normalize } of scores)
    for (const [i, value] of normalized(
      candidates.map((info) => raw(pod, info, view)),
      normalize,
    ).entries())
      totals[i]! += weight * value
  return candidates[totals.indexOf(Math.max(...totals))]
}
