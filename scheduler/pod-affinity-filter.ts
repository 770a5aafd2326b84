/** Required terms of Pods that want to be near others or away from them. Upstream: interpodaffinity/filtering. */
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { curable, type Filter, hopeless, type Refusal } from './filter.js'
import { type NodeInfo, topologyOf } from './node-info.js'
import { requiredTerms, termMatchesPod } from './pod-affinity.js'

/** How many terms of Pods are met in each domain, which is a label and its value. */
class DomainCounts {
  readonly #counts: Map<string, number>

  constructor(counts: ReadonlyMap<string, number> = new Map()) {
    this.#counts = new Map(counts)
  }
  get isEmpty(): boolean {
    return this.#counts.size === 0
  }
  clone(): DomainCounts {
    return new DomainCounts(this.#counts)
  }
  add({ topologyKey }: PodAffinityTerm, info: NodeInfo, by: number): void {
    const value = topologyOf(info, topologyKey)
    if (value === undefined) return
    const domain = `${topologyKey}=${value}`
    const count = (this.#counts.get(domain) ?? 0) + by
    if (count === 0) this.#counts.delete(domain)
    else this.#counts.set(domain, count)
  }
  has(topologyKey: string, value: string | undefined): boolean {
    return value !== undefined && (this.#counts.get(`${topologyKey}=${value}`) ?? 0) > 0
  }
}

class PodAffinityFilter implements Filter {
  readonly #pod: Pod
  readonly #view: ClusterView
  readonly #near: readonly PodAffinityTerm[]
  readonly #away: readonly PodAffinityTerm[]
  readonly #nearCounts: DomainCounts
  readonly #awayCounts: DomainCounts
  /** Where running Pods do not want this Pod. */
  readonly #othersCounts: DomainCounts

  constructor(
    pod: Pod,
    view: ClusterView,
    counts?: readonly [DomainCounts, DomainCounts, DomainCounts],
  ) {
    this.#pod = pod
    this.#view = view
    this.#near = requiredTerms(pod, 'podAffinity')
    this.#away = requiredTerms(pod, 'podAntiAffinity')
    this.#nearCounts = counts?.[0] ?? new DomainCounts()
    this.#awayCounts = counts?.[1] ?? new DomainCounts()
    this.#othersCounts = counts?.[2] ?? new DomainCounts()
  }

  /** The counts as they are in the cluster. */
  countAll(): this {
    for (const info of this.#view.nodes)
      for (const other of info.pods.values()) this.count(other, info, 1)
    return this
  }

  /** No Pod has such terms. */
  get isIdle(): boolean {
    return this.#near.length + this.#away.length === 0 && this.#othersCounts.isEmpty
  }

  refuse(info: NodeInfo): Refusal | undefined {
    if (!this.#isNear(info)) return hopeless("node(s) didn't match pod affinity rules")
    if (
      this.#away.some(({ topologyKey }) =>
        this.#awayCounts.has(topologyKey, topologyOf(info, topologyKey)),
      )
    )
      return curable("node(s) didn't match pod anti-affinity rules")
    for (const [key, value] of Object.entries(info.node!.metadata.labels ?? {}))
      if (this.#othersCounts.has(key, value))
        return curable("node(s) didn't satisfy existing pods anti-affinity rules")
    return undefined
  }

  #isNear(info: NodeInfo): boolean {
    if (this.#near.some(({ topologyKey }) => topologyOf(info, topologyKey) === undefined))
      return false
    if (
      this.#near.every(({ topologyKey }) =>
        this.#nearCounts.has(topologyKey, topologyOf(info, topologyKey)),
      )
    )
      return true
    // The first of a group that wants to be together has nobody to be near to: it may begin anywhere that has the keys.
    return this.#nearCounts.isEmpty && this.#meetsAll(this.#pod)
  }

  /** Only a Pod that all terms speak of is one to be near to. Upstream: podMatchesAllAffinityTerms. */
  #meetsAll(other: Pod): boolean {
    return this.#near.every((term) => termMatchesPod(term, this.#pod, other, this.#view))
  }

  clone(): PodAffinityFilter {
    return new PodAffinityFilter(this.#pod, this.#view, [
      this.#nearCounts.clone(),
      this.#awayCounts.clone(),
      this.#othersCounts.clone(),
    ])
  }

  count(other: Pod, info: NodeInfo, by: 1 | -1): void {
    if (this.#meetsAll(other)) for (const term of this.#near) this.#nearCounts.add(term, info, by)
    for (const term of this.#away)
      if (termMatchesPod(term, this.#pod, other, this.#view)) this.#awayCounts.add(term, info, by)
    for (const term of requiredTerms(other, 'podAntiAffinity'))
      if (termMatchesPod(term, other, this.#pod, this.#view)) this.#othersCounts.add(term, info, by)
  }
}

export const podAffinityFilter = (pod: Pod, view: ClusterView): Filter | undefined => {
  const filter = new PodAffinityFilter(pod, view).countAll()
  return filter.isIdle ? undefined : filter
}
