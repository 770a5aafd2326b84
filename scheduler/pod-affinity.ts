/** Pods that want to be near others or away from them, where near is a node label's equal value. */
import { matchesSelector } from '#api/label-selector.js'
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { type NodeInfo, topologyOf } from './node-info.js'

export type NamespaceLabels = Pick<ClusterView, 'namespaceLabels'>

/** Whether `pod` is one of those that `owner`'s term speaks of. */
export const termMatchesPod = (
  term: PodAffinityTerm,
  owner: Pod,
  pod: Pod,
  view: NamespaceLabels,
): boolean => {
  const namespace = pod.metadata.namespace
  const listed = term.namespaces ?? []
  const inNamespace =
    listed.includes(namespace) ||
    (term.namespaceSelector !== undefined &&
      matchesSelector(term.namespaceSelector, view.namespaceLabels(namespace))) ||
    (listed.length === 0 &&
      term.namespaceSelector === undefined &&
      namespace === owner.metadata.namespace)
  return inNamespace && matchesSelector(term.labelSelector, pod.metadata.labels)
}

export const requiredTerms = (
  pod: Pod,
  side: 'podAffinity' | 'podAntiAffinity',
): PodAffinityTerm[] =>
  pod.spec.affinity?.[side]?.requiredDuringSchedulingIgnoredDuringExecution ?? []

interface Wish {
  term: PodAffinityTerm
  /** Below zero for what is to be far. */
  weight: number
}

const preferred = (pod: Pod): Wish[] =>
  (['podAffinity', 'podAntiAffinity'] as const).flatMap((side) =>
    (pod.spec.affinity?.[side]?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm: term, weight }) => ({
        term,
        weight: side === 'podAffinity' ? weight : -weight,
      }),
    ),
  )

/** What a Pod that runs wishes of those that come. */
const wishesOf = (running: Pod, hardWeight: number): Wish[] => [
  ...preferred(running),
  ...(hardWeight === 0 ? [] : requiredTerms(running, 'podAffinity')).map((term) => ({
    term,
    weight: hardWeight,
  })),
]

/**
 * How much a node is wished for: by the Pod's own preferred terms, by those of Pods that run already, and a little by
 * their required ones. Undefined when nobody wishes anything. Upstream: interpodaffinity/scoring.
 */
export const preferencesOf = (
  pod: Pod,
  view: ClusterView,
  {
    hardPodAffinityWeight,
    ignorePreferredTermsOfExistingPods,
  }: PluginArguments['InterPodAffinity'],
): ((info: NodeInfo) => number) | undefined => {
  /** Topology key → value → weight. */
  const weights = new Map<string, Map<string, number>>()
  const add = ({ term: { topologyKey: key }, weight }: Wish, at: NodeInfo): void => {
    const value = topologyOf(at, key)
    if (value === undefined) return
    const values = weights.get(key) ?? new Map<string, number>()
    weights.set(key, values.set(value, (values.get(value) ?? 0) + weight))
  }
  const own = preferred(pod)
  if (own.length === 0 && ignorePreferredTermsOfExistingPods) return undefined
  for (const info of view.nodes)
    for (const other of info.pods.values()) {
      for (const wish of own) if (termMatchesPod(wish.term, pod, other, view)) add(wish, info)
      if (other.spec.affinity === undefined) continue
      for (const wish of wishesOf(other, hardPodAffinityWeight))
        if (termMatchesPod(wish.term, other, pod, view)) add(wish, info)
    }
  if (weights.size === 0) return undefined
  return (info) => {
    let sum = 0
    for (const [key, values] of weights) {
      const value = topologyOf(info, key)
      if (value !== undefined) sum += values.get(value) ?? 0
    }
    return sum
  }
}
