/** Pods that want to be near others or away from them, where near is a node label's equal value. */
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { NodeInfo } from './node-info.js'

const withLabelKeys = (term: PodAffinityTerm, owner: Pod): LabelSelector | undefined => {
  if (term.labelSelector === undefined) return undefined
  const labels = owner.metadata.labels ?? {}
  const extra = (keys: string[] | undefined, operator: string) =>
    (keys ?? [])
      .filter((key) => Object.hasOwn(labels, key))
      .map((key) => ({ key, operator, values: [labels[key]!] }))
  return {
    ...term.labelSelector,
    matchExpressions: [
      ...(term.labelSelector.matchExpressions ?? []),
      ...extra(term.matchLabelKeys, 'In'),
      ...extra(term.mismatchLabelKeys, 'NotIn'),
    ],
  }
}

/** Whether `pod` is one of those that `owner`'s term speaks of. */
const termMatchesPod = (
  term: PodAffinityTerm,
  owner: Pod,
  pod: Pod,
  view: ClusterView,
): boolean => {
  const namespace = pod.metadata.namespace!
  const listed = term.namespaces ?? []
  const inNamespace =
    listed.includes(namespace) ||
    (term.namespaceSelector !== undefined &&
      matchesSelector(term.namespaceSelector, view.namespaceLabels(namespace))) ||
    (listed.length === 0 &&
      term.namespaceSelector === undefined &&
      namespace === owner.metadata.namespace)
  return inNamespace && matchesSelector(withLabelKeys(term, owner), pod.metadata.labels)
}

const topologyOf = (info: NodeInfo, key: string): string | undefined =>
  info.node?.metadata.labels?.[key]

const required = (pod: Pod, side: 'podAffinity' | 'podAntiAffinity'): PodAffinityTerm[] =>
  pod.spec.affinity?.[side]?.requiredDuringSchedulingIgnoredDuringExecution ?? []

/** Whether a pod that the term speaks of runs in the same domain as `info`. */
const hasNear = (term: PodAffinityTerm, owner: Pod, info: NodeInfo, view: ClusterView): boolean => {
  const domain = topologyOf(info, term.topologyKey)
  if (domain === undefined) return false
  for (const other of view.nodes) {
    if (topologyOf(other, term.topologyKey) !== domain) continue
    for (const pod of other.pods.values()) if (termMatchesPod(term, owner, pod, view)) return true
  }
  return false
}

const hasAnywhere = (term: PodAffinityTerm, owner: Pod, view: ClusterView): boolean => {
  for (const other of view.nodes)
    for (const pod of other.pods.values()) if (termMatchesPod(term, owner, pod, view)) return true
  return false
}

export const satisfiesAffinity = (pod: Pod, info: NodeInfo, view: ClusterView): boolean => {
  const terms = required(pod, 'podAffinity')
  if (terms.every((term) => hasNear(term, pod, info, view))) return true
  // The first of a group that wants to be together has nobody to be near to: it may begin anywhere that has the key.
  return (
    terms.every((term) => topologyOf(info, term.topologyKey) !== undefined) &&
    terms.every((t) => !hasAnywhere(t, pod, view) && termMatchesPod(t, pod, pod, view))
  )
}

export const satisfiesAntiAffinity = (pod: Pod, info: NodeInfo, view: ClusterView): boolean =>
  required(pod, 'podAntiAffinity').every((term) => !hasNear(term, pod, info, view))

/** Pods that run already may not want the new one near. */
export const satisfiesOthersAntiAffinity = (
  pod: Pod,
  info: NodeInfo,
  view: ClusterView,
): boolean => {
  for (const other of view.nodes) {
    for (const running of other.pods.values()) {
      for (const term of required(running, 'podAntiAffinity')) {
        const domain = topologyOf(other, term.topologyKey)
        if (domain === undefined || domain !== topologyOf(info, term.topologyKey)) continue
        if (termMatchesPod(term, running, pod, view)) return false
      }
    }
  }
  return true
}

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

/** Upstream's hardPodAffinityWeight. */
const hardWeight = 1

/** What a Pod that runs wishes of those that come. */
const wishesOf = (running: Pod): Wish[] => [
  ...preferred(running),
  ...required(running, 'podAffinity').map((term) => ({ term, weight: hardWeight })),
]

/**
 * How much a node is wished for: by the Pod's own preferred terms, by those of Pods that run already, and a little by
 * their required ones. Undefined when nobody wishes anything. Upstream: interpodaffinity/scoring.
 */
export const preferencesOf = (
  pod: Pod,
  view: ClusterView,
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
  for (const info of view.nodes)
    for (const other of info.pods.values()) {
      for (const wish of own) if (termMatchesPod(wish.term, pod, other, view)) add(wish, info)
      if (other.spec.affinity === undefined) continue
      for (const wish of wishesOf(other))
        if (termMatchesPod(wish.term, other, pod, view)) add(wish, info)
    }
  if (weights.size === 0) return undefined
  return (info) => {
    let sum = 0
    for (const [key, values] of weights) sum += values.get(topologyOf(info, key) ?? '') ?? 0
    return sum
  }
}
