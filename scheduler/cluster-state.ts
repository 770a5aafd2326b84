/** The cluster as decisions see it: nodes with their Pods, those included that were just bound (assumed). */

import type { KubeObject } from '#api/object.js'
import { keyOf, type ObjectStore } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { NodeInfo } from './node-info.js'

/** What one decision looks at. */
export interface ClusterView {
  nodes: Iterable<NodeInfo>
  namespaceLabels(namespace: string): Record<string, string>
  /** What the claims of the Pod that is decided about rule out. */
  volumeProblem?(info: NodeInfo): { reason: string; hopeless: boolean } | undefined
}

export class ClusterState {
  readonly #infos = new Map<string, NodeInfo>()
  readonly #nodeOfPod = new Map<string, string>()
  /** Pods that made room for themselves and wait for it, by key. */
  readonly #nominated = new Map<string, Pod>()
  readonly #namespaces: ObjectStore<KubeObject>
  #turn = 0

  constructor(namespaces: ObjectStore<KubeObject>) {
    this.#namespaces = namespaces
  }

  setNode(node: Node): void {
    this.#info(node.metadata.name!).setNode(node)
  }
  removeNode(name: string): void {
    const info = this.#infos.get(name)
    info?.setNode(undefined)
    if (info?.pods.size === 0) this.#infos.delete(name)
  }
  setPod(pod: Pod, nodeName: string): void {
    const key = keyOf(pod)
    if (this.#nodeOfPod.get(key) !== nodeName) this.removePod(key)
    this.#nodeOfPod.set(key, nodeName)
    this.#info(nodeName).addPod(pod)
    this.#nominated.delete(key)
  }
  removePod(key: string): void {
    const nodeName = this.#nodeOfPod.get(key)
    if (nodeName === undefined) return
    this.#infos.get(nodeName)?.removePod(key)
    this.#nodeOfPod.delete(key)
  }
  nominate(pod: Pod): void {
    if (pod.status?.nominatedNodeName) this.#nominated.set(keyOf(pod), pod)
    else this.#nominated.delete(keyOf(pod))
  }
  forgetNomination(key: string): void {
    this.#nominated.delete(key)
  }
  info(nodeName: string): NodeInfo | undefined {
    return this.#infos.get(nodeName)
  }

  /**
   * Nodes for one decision, each time beginning at another so that equals take turns. Room that others of at least
   * this priority made for themselves counts as taken.
   */
  viewFor(pod: Pod): { nodes: NodeInfo[]; view: ClusterView } {
    const all = [...this.#infos.values()].filter((info) => info.node !== undefined)
    const start = all.length === 0 ? 0 : this.#turn++ % all.length
    const nodes = [...all.slice(start), ...all.slice(0, start)].map((info) =>
      this.#withNominated(info, pod),
    )
    return {
      nodes,
      view: {
        nodes,
        namespaceLabels: (name) => this.#namespaces.get(name)?.metadata.labels ?? {},
      },
    }
  }

  #withNominated(info: NodeInfo, pod: Pod): NodeInfo {
    const others = [...this.#nominated.values()].filter(
      (other) =>
        other.status.nominatedNodeName === info.node!.metadata.name &&
        keyOf(other) !== keyOf(pod) &&
        (other.spec.priority ?? 0) >= (pod.spec.priority ?? 0),
    )
    if (others.length === 0) return info
    const copy = info.without(new Set())
    for (const other of others) copy.addPod(other)
    return copy
  }

  #info(name: string): NodeInfo {
    const known = this.#infos.get(name)
    if (known !== undefined) return known
    const created = new NodeInfo()
    this.#infos.set(name, created)
    return created
  }
}
