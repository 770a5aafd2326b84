/** Constraints that must hold. Upstream: podtopologyspread/filtering. */
import type { Pod } from '#client/pod.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { curable, type Filter, hopeless, type Refusal } from './filter.js'
import { type NodeInfo, topologyOf } from './node-info.js'
import type { Prepare } from './prepare.js'
import { countOn, type Spread, spreadsFor } from './topology-spread.js'

interface Counted {
  readonly spread: Spread
  /** Matching Pods for each value of the key, over the nodes that have all keys and count. */
  readonly domains: Map<string, number>
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
      for (const { spread, domains } of this.#counted) {
        if (!spread.countsOn(info)) continue
        const domain = topologyOf(info, spread.topologyKey)!
        domains.set(domain, (domains.get(domain) ?? 0) + countOn(info, spread))
      }
    }
    return this
  }

  refuse(info: NodeInfo): Refusal | undefined {
    for (const { spread, domains } of this.#counted) {
      const domain = topologyOf(info, spread.topologyKey)
      if (domain === undefined)
        return hopeless(
          "node(s) didn't match pod topology spread constraints (missing required label)",
        )
      const least = domains.size < spread.minDomains ? 0 : Math.min(...domains.values())
      const self = spread.selects(this.#pod) ? 1 : 0
      if ((domains.get(domain) ?? 0) + self - least > spread.maxSkew)
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
    for (const { spread, domains } of this.#counted) {
      if (!spread.selects(other) || !spread.countsOn(info)) continue
      const domain = topologyOf(info, spread.topologyKey)!
      domains.set(domain, (domains.get(domain) ?? 0) + by)
    }
  }

  #hasAllKeys(info: NodeInfo): boolean {
    return this.#counted.every(({ spread }) => topologyOf(info, spread.topologyKey) !== undefined)
  }
}

export const spreadFilter =
  (settings: PluginArguments['PodTopologySpread']): Prepare =>
  (pod, view) => {
    const hard = spreadsFor(pod, { view, settings, action: 'DoNotSchedule' })
    if (hard.length === 0) return undefined
    const counted = hard.map((spread) => ({ spread, domains: new Map<string, number>() }))
    return new SpreadFilter(pod, counted).countAll(view.nodes)
  }
