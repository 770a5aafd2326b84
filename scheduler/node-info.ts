/**
 * A node as the scheduler sees it: what it offers, which Pods are on it and what they take. Kept up to date Pod by Pod.
 */
import { addAmounts, type MilliAmounts, parseAmounts, parseMilli } from '#client/amount.js'
import { keyOf } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { type AskingPod, podRequests } from '#client/pod-requests.js'
import { getOwn } from '#json/object.js'
import { asHeld } from './held-requests.js'

/** What a container that requests nothing counts as when nodes are compared; upstream's schedutil defaults. */
const placeholder: MilliAmounts = new Map([
  ['cpu', parseMilli('100m')],
  ['memory', parseMilli('200Mi')],
])
export const placeholderRequests = (pod: AskingPod): MilliAmounts => podRequests(pod, placeholder)
export const amountOf = (amounts: ReadonlyMap<string, bigint>, name: string): bigint =>
  amounts.get(name) ?? 0n

export class NodeInfo {
  node: Node | undefined
  allocatable: MilliAmounts = new Map()
  /** Bytes of each image that is there, by each of its names. */
  images: ReadonlyMap<string, number> = new Map()
  readonly pods = new Map<string, Pod>()
  readonly requested: MilliAmounts = new Map()
  /** The same with placeholders for what was not asked for. */
  readonly placeholders: MilliAmounts = new Map()

  setNode(node: Node | undefined): void {
    this.node = node
    this.allocatable = parseAmounts(node?.status.allocatable ?? node?.status.capacity)
    this.images = new Map(
      (node?.status.images ?? []).flatMap(({ names, sizeBytes = 0 }) =>
        (names ?? []).map((name) => [name, sizeBytes] as const),
      ),
    )
  }

  addPod(pod: Pod): void {
    this.removePod(keyOf(pod))
    this.pods.set(keyOf(pod), pod)
    this.#count(pod, 1n)
  }
  removePod(key: string): void {
    const known = this.pods.get(key)
    if (known === undefined) return
    this.pods.delete(key)
    this.#count(known, -1n)
  }
  #count(pod: Pod, sign: bigint): void {
    const held = asHeld(pod)
    addAmounts(this.requested, podRequests(held), sign)
    addAmounts(this.placeholders, placeholderRequests(held), sign)
  }

  copy(): NodeInfo {
    const copy = new NodeInfo()
    copy.node = this.node
    copy.allocatable = this.allocatable
    copy.images = this.images
    for (const [key, pod] of this.pods) copy.pods.set(key, pod)
    addAmounts(copy.requested, this.requested, 1n)
    addAmounts(copy.placeholders, this.placeholders, 1n)
    return copy
  }
}

/** Where the node lies by this label; undefined if it has none. */
export const topologyOf = ({ node }: NodeInfo, key: string): string | undefined =>
  getOwn(node?.metadata.labels, key)
