/** The last two readings of every node and container. */
import type { NodeReading } from './kubelet-reading.js'
import { type Point, type Usage, usageBetween } from './usage.js'

interface Pair {
  readonly before: Point | undefined
  readonly now: Point
}
interface KnownPod {
  readonly node: string
  readonly containers: ReadonlyMap<string, Pair>
}

/** A reading that is no newer changes nothing: kubelets may answer from memory. */
const next = (known: Pair | undefined, now: Point): Pair =>
  known !== undefined && known.now.atMs >= now.atMs ? known : { before: known?.now, now }

export class UsageStore {
  readonly #resolutionMs: number
  readonly #nodes = new Map<string, Pair>()
  readonly #pods = new Map<string, KnownPod>()

  /** The time between readings. */
  constructor(resolutionMs: number) {
    this.#resolutionMs = resolutionMs
  }

  record(name: string, { node, pods }: NodeReading): void {
    if (node !== undefined) this.#nodes.set(name, next(this.#nodes.get(name), node))
    const seen = new Set<string>()
    for (const pod of pods) {
      const key = `${pod.namespace}/${pod.name}`
      seen.add(key)
      const known = this.#pods.get(key)?.containers
      const containers = new Map(
        [...pod.containers].map(([container, point]) => [
          container,
          next(known?.get(container), point),
        ]),
      )
      this.#pods.set(key, { node: name, containers })
    }
    for (const [key, pod] of this.#pods)
      if (pod.node === name && !seen.has(key)) this.#pods.delete(key)
  }

  /** Forgets the nodes that are not among these, and what ran there. */
  keepNodes(names: ReadonlySet<string>): void {
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name)
    for (const [key, { node }] of this.#pods) if (!names.has(node)) this.#pods.delete(key)
  }

  /** Whether a node has been read twice, so that its usage is known. */
  knows(name: string): boolean {
    return this.#nodes.get(name)?.before !== undefined
  }

  node(name: string): Usage | undefined {
    const pair = this.#nodes.get(name)
    return pair === undefined ? undefined : this.#usageOf(pair)
  }

  /** By container; undefined when one of them has no figures yet. */
  pod(namespace: string, name: string): Map<string, Usage> | undefined {
    const known = this.#pods.get(`${namespace}/${name}`)
    if (known === undefined) return undefined
    const usages = new Map<string, Usage>()
    for (const [container, pair] of known.containers) {
      const usage = this.#usageOf(pair)
      if (usage === undefined) return undefined
      usages.set(container, usage)
    }
    return usages.size === 0 ? undefined : usages
  }

  #usageOf({ before, now }: Pair): Usage | undefined {
    return usageBetween(before, now, this.#resolutionMs)
  }
}
