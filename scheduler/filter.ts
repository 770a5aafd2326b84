/** Filters that are prepared for one Pod, and their answers if other Pods came or went. */
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'

export interface Refusal {
  reasons: string[]
  /** Nothing would change if other Pods left, so preemption need not look at the node. */
  hopeless: boolean
}
export const hopeless = (reason: string): Refusal => ({ reasons: [reason], hopeless: true })
export const curable = (reason: string): Refusal => ({ reasons: [reason], hopeless: false })

/** A filter could not answer; the message is upstream's. No node is chosen then, and the Pod is tried again. */
export class FilterFailure extends Error {
  constructor(plugin: string, cause: Error) {
    super(`running "${plugin}" filter plugin: ${cause.message}`, { cause })
  }
}

/** One filter, prepared for one Pod: it has counted what it needs over all nodes. */
export interface Filter {
  refuse(info: NodeInfo): Refusal | undefined
  /** A copy whose counts change independently. A filter without counts is its own copy. */
  clone?(): Filter
  /** Another Pod came to the node (1) or left it (-1). */
  count?(other: Pod, info: NodeInfo, by: 1 | -1): void
}

/** In order; the first that refuses gives the reason. */
export type Filters = readonly Filter[]

const firstRefusal = (filters: Filters, info: NodeInfo): Refusal | undefined => {
  for (const filter of filters) {
    const refusal = filter.refuse(info)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** A node as it would be, and what filters would have counted. */
export class Trial {
  readonly info: NodeInfo
  readonly #filters: Filters

  constructor(filters: Filters, info: NodeInfo) {
    this.#filters = filters.map((filter) => filter.clone?.() ?? filter)
    this.info = info.copy()
  }
  add(pod: Pod): void {
    this.info.addPod(pod)
    for (const filter of this.#filters) filter.count?.(pod, this.info, 1)
  }
  remove(pod: Pod): void {
    this.info.removePod(keyOf(pod))
    for (const filter of this.#filters) filter.count?.(pod, this.info, -1)
  }
  /** As `refuse` below. */
  refuse(nominated: readonly Pod[]): Refusal | undefined {
    return refuse(this.#filters, this.info, nominated)
  }
}

/**
 * Why the node is ruled out. `nominated`: Pods that made room for themselves on it. The Pod has to fit with them and,
 * since they may end up elsewhere, without them. Upstream: RunFilterPluginsWithNominatedPods.
 */
export const refuse = (
  filters: Filters,
  info: NodeInfo,
  nominated: readonly Pod[],
): Refusal | undefined => {
  if (nominated.length > 0) {
    const trial = new Trial(filters, info)
    for (const pod of nominated) trial.add(pod)
    const refusal = trial.refuse([])
    if (refusal !== undefined) return refusal
  }
  return firstRefusal(filters, info)
}
