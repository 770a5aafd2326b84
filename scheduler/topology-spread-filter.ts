/** Constraints that must hold. Upstream: podtopologyspread/filtering. */
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { Pod, TopologySpreadConstraint } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { curable, type Filter, hopeless, type Refusal } from './filter.js'
import { type NodeInfo, topologyOf } from './node-info.js'
import { countOn, countsFor, matcherOf, selectorOf } from './topology-spread.js'

interface Counted {
  constraint: TopologySpreadConstraint
  selector: LabelSelector | undefined
  /** Matching Pods for each value of the key, over the nodes that have all keys and count. */
  domains: Map<string, number>
}

class SpreadFilter implements Filter {
  readonly #pod: Pod
  readonly #counted: readonly Counted[]

  constructor(pod: Pod, counted: readonly Counted[]) {
    this.#pod = pod
    this.#counted = counted
  }

  /** The counts as they are in the cluster. */
  countAll(nodes: Iterable<NodeInfo>): this {
    for (const info of nodes) {
      if (!this.#hasAllKeys(info)) continue
      for (const { constraint, domains } of this.#counted) {
        if (!countsFor(constraint, this.#pod, info)) continue
        const domain = topologyOf(info, constraint.topologyKey)!
        domains.set(
          domain,
          (domains.get(domain) ?? 0) + countOn(info, matcherOf(constraint, this.#pod)),
        )
      }
    }
    return this
  }

  refuse(info: NodeInfo): Refusal | undefined {
    const { labels } = this.#pod.metadata
    for (const { constraint, selector, domains } of this.#counted) {
      const domain = topologyOf(info, constraint.topologyKey)
      if (domain === undefined)
        return hopeless(
          "node(s) didn't match pod topology spread constraints (missing required label)",
        )
      const least = domains.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...domains.values())
      const self = matchesSelector(selector, labels) ? 1 : 0
      if ((domains.get(domain) ?? 0) + self - least > constraint.maxSkew)
        return curable("node(s) didn't match pod topology spread constraints")
    }
    return undefined
  }

  clone(): SpreadFilter {
    return new SpreadFilter(
      this.#pod,
      this.#counted.map((counted) => ({ ...counted, domains: new Map(counted.domains) })),
    )
  }

  /** Unlike at first, one that ends counts here, and so does any for an empty selector: upstream's updateWithPod. */
  count(other: Pod, info: NodeInfo, by: 1 | -1): void {
    if (other.metadata.namespace !== this.#pod.metadata.namespace || !this.#hasAllKeys(info)) return
    for (const { constraint, selector, domains } of this.#counted) {
      if (!matchesSelector(selector, other.metadata.labels)) continue
      if (!countsFor(constraint, this.#pod, info)) continue
      const domain = topologyOf(info, constraint.topologyKey)!
      domains.set(domain, (domains.get(domain) ?? 0) + by)
    }
  }

  #hasAllKeys(info: NodeInfo): boolean {
    return this.#counted.every(
      ({ constraint }) => topologyOf(info, constraint.topologyKey) !== undefined,
    )
  }
}

export const spreadFilter = (pod: Pod, view: ClusterView): Filter | undefined => {
  const hard = (pod.spec.topologySpreadConstraints ?? []).filter(
    (c) => c.whenUnsatisfiable === 'DoNotSchedule',
  )
  if (hard.length === 0) return undefined
  const counted = hard.map((constraint) => ({
    constraint,
    selector: selectorOf(constraint, pod),
    domains: new Map<string, number>(),
  }))
  return new SpreadFilter(pod, counted).countAll(view.nodes)
}
