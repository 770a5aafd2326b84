/** topologySpreadConstraints: how unevenly the Pods of a selector may lie over the values of a node label. */
import { controllerRefOf } from '#api/controller-ref.js'
import {
  isEmptySelector,
  type LabelSelector,
  matchesLabels,
  matchesSelector,
} from '#api/label-selector.js'
import { podWantsNode } from '#client/node-affinity.js'
import { type Pod, type TopologySpreadConstraint, untoleratedTaint } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { type NodeInfo, topologyOf } from './node-info.js'
import type { Score } from './scores.js'

const hostname = 'kubernetes.io/hostname'

/** A constraint with what it counts for one Pod. */
export interface Spread {
  readonly topologyKey: string
  readonly maxSkew: number
  readonly minDomains: number
  /** Whether the other Pod's labels are those that are counted. */
  selects(other: Pod): boolean
  /** The same at first: a Pod that ends does not count, and one without a selector counts nobody. */
  matches(other: Pod): boolean
  /** Whether the Pods of a node count: nodeAffinityPolicy (Honor unless said), nodeTaintsPolicy (Ignore unless said). */
  countsOn(info: NodeInfo): boolean
}

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

const countsOn = (constraint: TopologySpreadConstraint, pod: Pod, { node }: NodeInfo): boolean => {
  if (node === undefined) return false
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !podWantsNode(pod, node)) return false
  if (constraint.nodeTaintsPolicy !== 'Honor') return true
  return untoleratedTaint(node, pod.spec.tolerations) === undefined
}

const spreadOf = (
  constraint: TopologySpreadConstraint,
  pod: Pod,
  { selects, isEmpty }: { selects: (other: Pod) => boolean; isEmpty: boolean },
): Spread => ({
  topologyKey: constraint.topologyKey,
  maxSkew: constraint.maxSkew,
  minDomains: constraint.minDomains ?? 1,
  selects,
  matches: (other) =>
    !isEmpty &&
    other.metadata.namespace === pod.metadata.namespace &&
    other.metadata.deletionTimestamp === undefined &&
    selects(other),
  countsOn: (info) => countsOn(constraint, pod, info),
})

const systemDefaults: readonly TopologySpreadConstraint[] = [
  { topologyKey: hostname, maxSkew: 3, whenUnsatisfiable: 'ScheduleAnyway' },
  { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5, whenUnsatisfiable: 'ScheduleAnyway' },
]

/**
 * Those that belong together with a Pod that says nothing itself: Pods of the same set behind the same Services. Undefined
 * for a Pod that is in no set and behind no Service. Upstream: DefaultSelector.
 */
const companionsOf = (pod: Pod, view: ClusterView): ((other: Pod) => boolean) | undefined => {
  const { namespace, labels } = pod.metadata
  const controller = controllerRefOf(pod)
  const owner = ['ReplicaSet', 'ReplicationController', 'StatefulSet'].includes(
    controller?.kind ?? '',
  )
    ? controller
    : undefined
  const selectors = view
    .serviceSelectors(namespace)
    .filter((selector) => matchesLabels(selector, labels))
  if (owner === undefined && selectors.every((selector) => Object.keys(selector).length === 0))
    return undefined
  return ({ metadata }) =>
    selectors.every((selector) => matchesLabels(selector, metadata.labels)) &&
    (owner === undefined || Boolean(metadata.ownerReferences?.some((o) => o.uid === owner.uid)))
}

type Settings = PluginArguments['PodTopologySpread']

/** What holds for the Pod: its own constraints, or those by default if it has none. */
export const spreadsFor = (
  pod: Pod,
  { view, settings, action }: { view: ClusterView; settings: Settings; action: string },
): readonly Spread[] => {
  const own = pod.spec.topologySpreadConstraints ?? []
  const all = own.length > 0 ? own : defaultsOf(settings)
  const constraints = all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
  if (constraints.length === 0) return []
  if (own.length > 0)
    return constraints.map((constraint) => {
      const selector = selectorOf(constraint, pod)
      const selects = (other: Pod) => matchesSelector(selector, other.metadata.labels)
      return spreadOf(constraint, pod, { selects, isEmpty: isEmptySelector(selector) })
    })
  const selects = companionsOf(pod, view)
  if (selects === undefined) return []
  return constraints.map((constraint) => spreadOf(constraint, pod, { selects, isEmpty: false }))
}

const defaultsOf = ({ defaultingType, defaultConstraints }: Settings) =>
  defaultingType === 'System' ? systemDefaults : defaultConstraints

export const countOn = (info: NodeInfo, { matches }: Spread): number => {
  let count = 0
  for (const other of info.pods.values()) if (matches(other)) count++
  return count
}

/**
 * How well each candidate evens things out, from 0 to 100; undefined when nothing is wished for. Domains count the
 * less the more of them there are. Upstream: podtopologyspread/scoring.
 */
export const spreadScores =
  (settings: Settings): Score =>
  (pod, candidates, view) => {
    const spreads = spreadsFor(pod, { view, settings, action: 'ScheduleAnyway' })
    if (spreads.length === 0) return undefined
    // Nodes without zones are no reason to leave upstream's own defaults aside.
    const needsKeys =
      (pod.spec.topologySpreadConstraints ?? []).length > 0 || settings.defaultingType !== 'System'
    const hasKeys = (info: NodeInfo): boolean =>
      !needsKeys || spreads.every((s) => topologyOf(info, s.topologyKey) !== undefined)
    const qualified = candidates.filter(hasKeys)
    const costs = new Map(qualified.map((info) => [info, 0]))
    for (const spread of spreads) addCosts(spread, { qualified, hasKeys, view }, costs)
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
  spread: Spread,
  scope: { qualified: NodeInfo[]; hasKeys(info: NodeInfo): boolean; view: ClusterView },
  costs: Map<NodeInfo, number>,
): void => {
  const domainOf = (info: NodeInfo) => topologyOf(info, spread.topologyKey)
  const domains = new Map<string, number>()
  if (spread.topologyKey !== hostname) {
    for (const info of scope.qualified) domains.set(domainOf(info) ?? '', 0)
    for (const info of scope.view.nodes) {
      const value = domainOf(info) ?? ''
      if (!domains.has(value) || !scope.hasKeys(info) || !spread.countsOn(info)) continue
      domains.set(value, domains.get(value)! + countOn(info, spread))
    }
  }
  const size = spread.topologyKey === hostname ? scope.qualified.length : domains.size
  const weight = Math.log(size + 2)
  for (const info of scope.qualified) {
    const value = domainOf(info)
    if (value === undefined) continue
    const count =
      spread.topologyKey === hostname ? countOn(info, spread) : (domains.get(value) ?? 0)
    costs.set(info, costs.get(info)! + count * weight + (spread.maxSkew - 1))
  }
}
