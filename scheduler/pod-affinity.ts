/** Pods that want to be near others or away from them, where near is a node label's equal value. */
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'

export interface ClusterView {
  nodes: Iterable<NodeInfo>
  namespaceLabels(namespace: string): Record<string, string>
  /** What the claims of the Pod that is decided about rule out. */
  volumeProblem?(info: NodeInfo): { reason: string; hopeless: boolean } | undefined
}

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

const preferred = (pod: Pod, side: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec.affinity?.[side]?.preferredDuringSchedulingIgnoredDuringExecution ?? []

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
  const add = (key: string, at: NodeInfo, weight: number): void => {
    const value = topologyOf(at, key)
    if (value === undefined) return
    const values = weights.get(key) ?? new Map<string, number>()
    weights.set(key, values.set(value, (values.get(value) ?? 0) + weight))
  }
  const sides = [
    ['podAffinity', 1],
    ['podAntiAffinity', -1],
  ] as const
  const own = sides.flatMap(([side, sign]) =>
    preferred(pod, side).map((w) => ({ term: w.podAffinityTerm, weight: sign * w.weight })),
  )
  for (const info of view.nodes)
    for (const other of info.pods.values()) {
      for (const { term, weight } of own)
        if (termMatchesPod(term, pod, other, view)) add(term.topologyKey, info, weight)
      if (other.spec.affinity === undefined) continue
      for (const [side, sign] of sides)
        for (const { podAffinityTerm: term, weight } of preferred(other, side))
          if (termMatchesPod(term, other, pod, view)) add(term.topologyKey, info, sign * weight)
      for (const term of required(other, 'podAffinity'))
        if (termMatchesPod(term, other, pod, view)) add(term.topologyKey, info, hardWeight)
    }
  if (weights.size === 0) return undefined
  return (info) => {
    let sum = 0
    for (const [key, values] of weights) sum += values.get(topologyOf(info, key) ?? '') ?? 0
    return sum
  }
}
/** Upstream's hardPodAffinityWeight. */
const hardWeight = 1
