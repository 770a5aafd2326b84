/** The cluster as decisions see it: nodes with their Pods, those included that were just bound (assumed). */

import type { NamespacedObject } from '#api/object.js'
import { keyOf, type ObjectStore } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import type { DeviceFilter } from './devices/device-filter.js'
import type { DeviceTotals } from './devices/device-totals.js'
import type { Filter } from './filter.js'
import { NodeInfo } from './node-info.js'
import { priorityOf } from './priority.js'

/** What one decision looks at. */
export interface ClusterView {
  /** All that are there, in the order in which they are looked at. */
  nodes: readonly NodeInfo[]
  /** Told how many of them a decision has looked at: the next one begins behind those. */
  lookedAt?: (count: number) => void
  namespaceLabels(namespace: string): Record<string, string>
  /** Of all Services of the namespace that have one. */
  serviceSelectors(namespace: string): Record<string, string>[]
  /** Pods of at least the priority of the one that is decided about that made room for themselves on the node. */
  nominatedTo(info: NodeInfo): readonly Pod[]
  /** Why its claims let the Pod go nowhere yet, in upstream's words: those to volumes, and those to devices. */
  volumeProblem?: string | undefined
  deviceProblem?: string | undefined
  /** What its claims rule out: those to volumes, and those to devices. */
  volumeFilter?: Filter | undefined
  deviceFilter?: DeviceFilter | undefined
  /** Whether nodes without the resource may have it as devices, about which `deviceFilter` decides. */
  isDevice?: ((resource: string) => boolean) | undefined
  /** How many of them the node has; undefined if there are none of the resource anywhere. */
  devicesOn?: ((resource: string, node: Node) => DeviceTotals | undefined) | undefined
}

export interface Service extends NamespacedObject {
  spec: { selector?: Record<string, string> }
}

const byNamespace = 'namespace'

export class ClusterState {
  readonly #infos = new Map<string, NodeInfo>()
  readonly #nodeOfPod = new Map<string, string>()
  /** Pods that made room for themselves and wait for it, by key. */
  readonly #nominated = new Map<string, { pod: Pod; node: string }>()
  readonly #namespaces: ObjectStore
  readonly #services: ObjectStore<Service>
  #turn = 0

  constructor(namespaces: ObjectStore, services: ObjectStore<Service>) {
    this.#namespaces = namespaces
    this.#services = services
    services.addIndex(byNamespace, ({ metadata }) => [metadata.namespace])
  }

  setNode(node: Node): void {
    this.#info(node.metadata.name).setNode(node)
  }
  removeNode(name: string): void {
    this.#infos.get(name)?.setNode(undefined)
    this.#forgetIdle(name)
  }
  setPod(pod: Pod, nodeName: string): void {
    const key = keyOf(pod)
    if (this.#nodeOfPod.get(key) !== nodeName) this.removePod(key)
    this.#nodeOfPod.set(key, nodeName)
    this.#info(nodeName).addPod(pod)
    this.#nominated.delete(key)
  }
  /** False: it was on no node. */
  removePod(key: string): boolean {
    const nodeName = this.#nodeOfPod.get(key)
    if (nodeName === undefined) return false
    this.#infos.get(nodeName)?.removePod(key)
    this.#nodeOfPod.delete(key)
    this.#forgetIdle(nodeName)
    return true
  }
  nominate(pod: Pod, node: string | undefined): void {
    const key = keyOf(pod)
    // One that is being bound is on its node already.
    if (node && !this.#nodeOfPod.has(key)) this.#nominated.set(key, { pod, node })
    else this.#nominated.delete(key)
  }
  /** The Pod as it was nominated, if it was. */
  forgetNomination(key: string): Pod | undefined {
    const known = this.#nominated.get(key)
    this.#nominated.delete(key)
    return known?.pod
  }
  /** Pods of a lower priority that made room for themselves there, which another one takes now. */
  nominatedBelow(than: Pod, nodeName: string): Pod[] {
    return [...this.#nominated.values()].flatMap(({ pod, node }) =>
      node === nodeName && priorityOf(pod) < priorityOf(than) ? pod : [],
    )
  }
  info(nodeName: string): NodeInfo | undefined {
    return this.#infos.get(nodeName)
  }

  namespaceLabels(name: string): Record<string, string> {
    return this.#namespaces.get(name)?.metadata.labels ?? {}
  }

  /**
   * For one decision; the nodes begin each time at another, so that equals take turns, and behind those that were looked
   * at last, if others were left out. `isKept`: what changes while the decision waits for others is not seen.
   */
  viewFor(pod: Pod, { isKept = false } = {}): ClusterView {
    const all = [...this.#infos.values()].filter((info) => info.node !== undefined)
    const start = all.length === 0 ? 0 : this.#turn % all.length
    this.#turn = start + 1
    const turned = [...all.slice(start), ...all.slice(0, start)]
    const nominated = [...this.#nominated.values()].filter(
      (other) =>
        other.pod.metadata.uid !== pod.metadata.uid && priorityOf(other.pod) >= priorityOf(pod),
    )
    return {
      nodes: isKept ? turned.map((info) => info.copy()) : turned,
      lookedAt: (count) => {
        if (count < all.length) this.#turn = start + count
      },
      namespaceLabels: (name) => this.namespaceLabels(name),
      serviceSelectors: (namespace) =>
        this.#services
          .byIndex(byNamespace, namespace)
          .map(({ spec }) => spec.selector)
          .filter((selector) => selector !== undefined),
      nominatedTo: ({ node }) =>
        nominated.flatMap((other) => (other.node === node!.metadata.name ? other.pod : [])),
    }
  }

  /** Pods may name a node that never was, or outlast theirs. */
  #forgetIdle(name: string): void {
    const info = this.#infos.get(name)
    if (info?.node === undefined && info?.pods.size === 0) this.#infos.delete(name)
  }

  #info(name: string): NodeInfo {
    const known = this.#infos.get(name)
    if (known !== undefined) return known
    const created = new NodeInfo()
    this.#infos.set(name, created)
    return created
  }
}
