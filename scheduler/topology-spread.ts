/** topologySpreadConstraints: how unevenly the Pods of a selector may lie over the values of a node label. */
import { controllerRefOf } from '#api/controller-ref.js'
import { isEmptySelector, type LabelSelector, matchesSelector } from '#api/label-selector.js'
import { podWantsNode } from '#client/node-affinity.js'
import { type Pod, type TopologySpreadConstraint, untoleratedTaint } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { type NodeInfo, topologyOf } from './node-info.js'

type Matches = (pod: Pod) => boolean

/** Labels whose values the incoming Pod gives are as if they stood in the selector. */
export const selectorOf = (
  { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint,
  pod: Pod,
): LabelSelector | undefined => {
  const labels = pod.metadata.labels ?? {}
  const extra = matchLabelKeys.filter((key) => Object.hasOwn(labels, key))
  if (labelSelector === undefined || extra.length === 0) return labelSelector
  const matchLabels = Object.fromEntries(extra.map((key) => [key, labels[key]!]))
  return { ...labelSelector, matchLabels: { ...labelSelector.matchLabels, ...matchLabels } }
}

/** A constraint of an empty selector counts nobody. */
export const matcherOf = (constraint: TopologySpreadConstraint, pod: Pod): Matches => {
  const selector = selectorOf(constraint, pod)
  if (isEmptySelector(selector)) return () => false
  return (other) =>
    other.metadata.namespace === pod.metadata.namespace &&
    other.metadata.deletionTimestamp === undefined &&
    matchesSelector(selector, other.metadata.labels)
}

/** Whether the Pods of a node count: nodeAffinityPolicy (Honor unless said) and nodeTaintsPolicy (Ignore unless said). */
export const countsFor = (
  constraint: TopologySpreadConstraint,
  pod: Pod,
  { node }: NodeInfo,
): boolean => {
  if (node === undefined) return false
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !podWantsNode(pod, node)) return false
  if (constraint.nodeTaintsPolicy !== 'Honor') return true
  return untoleratedTaint(node, pod.spec.tolerations) === undefined
}

export const countOn = (info: NodeInfo, matches: Matches): number => {
  let count = 0
  for (const other of info.pods.values()) if (matches(other)) count++
  return count
}

const hostname = 'kubernetes.io/hostname'
interface Wish {
  topologyKey: string
  maxSkew: number
  matches: Matches
  counts(info: NodeInfo): boolean
}

/** Upstream's defaults for Pods of a set that say nothing themselves. */
const defaultWishes = (pod: Pod): Wish[] => {
  const owner = controllerRefOf(pod)
  if (!['ReplicaSet', 'ReplicationController', 'StatefulSet'].includes(owner?.kind ?? '')) return []
  const matches: Matches = (other) =>
    other.metadata.deletionTimestamp === undefined &&
    Boolean(other.metadata.ownerReferences?.some((o) => o.uid === owner!.uid))
  return [
    { topologyKey: hostname, maxSkew: 3, matches, counts: () => true },
    { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5, matches, counts: () => true },
  ]
}

/**
 * How well each candidate evens things out, from 0 to 100; undefined when nothing is wished for. Domains count the
 * less the more of them there are. Upstream: podtopologyspread/scoring.
 */
export const spreadScores = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  view: ClusterView,
): number[] | undefined => {
  const own = pod.spec.topologySpreadConstraints ?? []
  const wishes: Wish[] =
    own.length > 0
      ? own
          .filter((c) => c.whenUnsatisfiable === 'ScheduleAnyway')
          .map((c) => ({
            topologyKey: c.topologyKey,
            maxSkew: c.maxSkew,
            matches: matcherOf(c, pod),
            counts: (info) => countsFor(c, pod, info),
          }))
      : defaultWishes(pod)
  if (wishes.length === 0) return undefined
  const hasKeys = (info: NodeInfo): boolean =>
    own.length === 0 || wishes.every((w) => topologyOf(info, w.topologyKey) !== undefined)
  const qualified = candidates.filter(hasKeys)
  const costs = new Map(qualified.map((info) => [info, 0]))
  for (const wish of wishes) addCosts(wish, { qualified, hasKeys, view }, costs)
  const rounded = [...costs.values()].map(Math.round)
  const most = Math.max(0, ...rounded)
  const least = Math.min(...rounded)
  return candidates.map((info) => {
    const cost = costs.get(info)
    if (cost === undefined) return 0
    if (most === 0) return 100
    return Math.trunc((100 * (most + least - Math.round(cost))) / most)
  })
}

const addCosts = (
  wish: Wish,
  scope: { qualified: NodeInfo[]; hasKeys(info: NodeInfo): boolean; view: ClusterView },
  costs: Map<NodeInfo, number>,
): void => {
  const domainOf = (info: NodeInfo) => topologyOf(info, wish.topologyKey)
  const domains = new Map<string, number>()
  if (wish.topologyKey !== hostname) {
    for (const info of scope.qualified) domains.set(domainOf(info) ?? '', 0)
    for (const info of scope.view.nodes) {
      const value = domainOf(info) ?? ''
      if (!domains.has(value) || !scope.hasKeys(info) || !wish.counts(info)) continue
      domains.set(value, domains.get(value)! + countOn(info, wish.matches))
    }
  }
  const size = wish.topologyKey === hostname ? scope.qualified.length : domains.size
  const weight = Math.log(size + 2)
  for (const info of scope.qualified) {
    const value = domainOf(info)
    if (value === undefined) continue
    const count =
      wish.topologyKey === hostname ? countOn(info, wish.matches) : (domains.get(value) ?? 0)
    costs.set(info, costs.get(info)! + count * weight + (wish.maxSkew - 1))
  }
}
