/**
 * What the API knows of the CSI drivers of this node: the CSINode, and the annotation and labels of the Node. Upstream:
 * pkg/volume/csi/nodeinfomanager.
 */

import { sleep } from '#async/sleep.js'
import type { Client } from '#client/client.js'
import type { CsiNode, CsiNodeDriver } from '#client/csi-objects.js'
import { isNotFound, messageOf } from '#client/errors.js'
import { migratedPlugins } from '#client/migrated-plugins.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { Turns } from '../turns.js'
import type { NodeInfo } from './csi-client.js'

const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid'
const migratedAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins'
/** Upstream's pauses between tries. */
const pausesMs = [10, 50, 250]

const driverOf = (name: string, info: NodeInfo): CsiNodeDriver => {
  const topologyKeys = Object.keys(info.accessible_topology?.segments ?? {}).sort()
  const count = Math.min(info.max_volumes_per_node, limits.csiVolumesPerNodeMax)
  return {
    name,
    nodeID: info.node_id,
    topologyKeys: topologyKeys.length > 0 ? topologyKeys : null,
    ...(count > 0 ? { allocatable: { count } } : {}),
  }
}

const isSame = (a: CsiNodeDriver | undefined, b: CsiNodeDriver): boolean =>
  a !== undefined &&
  a.nodeID === b.nodeID &&
  a.allocatable?.count === b.allocatable?.count &&
  [...(a.topologyKeys ?? [])].sort().join() === (b.topologyKeys ?? []).join()

const nodeIdsOf = ({ metadata }: Node): Record<string, string> => {
  const text = metadata.annotations?.[nodeIdAnnotation]
  return text ? JSON.parse(text) : {}
}
/** Sorted, as Go writes it; null where there is none. */
const textOf = (nodeIds: Readonly<Record<string, string>>): string | null => {
  const entries = Object.entries(nodeIds).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.length > 0 ? JSON.stringify(Object.fromEntries(entries)) : null
}

export class CsiNodeWriter {
  readonly #client: Client
  readonly #at: { readonly name: string }
  /** Drivers that register at the same time would take each other's tries. */
  readonly #turns = new Turns()

  constructor(client: Client, nodeName: string) {
    this.#client = client
    this.#at = { name: nodeName }
  }

  /** Throws upstream's texts. */
  async install(driver: string, info: NodeInfo): Promise<void> {
    await this.#tries(
      'error updating Node object with CSI driver node info: error updating node',
      () => this.#tellNode(driver, info),
    )
    await this.#tries(
      'error updating CSINode object with CSI driver node info: error updating CSINode',
      () => this.#addDriver(driverOf(driver, info)),
    )
  }

  /** The Node keeps its labels. */
  async uninstall(driver: string): Promise<void> {
    await this.#tries(
      'error uninstalling CSI driver from CSINode object error updating CSINode',
      () => this.#removeDriver(driver),
    )
    await this.#tries(
      'error removing CSI driver node info from Node object error updating node',
      () => this.#tellNode(driver, undefined),
    )
  }

  async #tries(what: string, change: () => Promise<void>): Promise<void> {
    const errors: string[] = []
    for (const pauseMs of [...pausesMs, undefined]) {
      try {
        return await this.#turns.next([this.#at.name], change)
      } catch (error) {
        errors.push(messageOf(error))
      }
      if (pauseMs !== undefined) await sleep(pauseMs)
    }
    throw new Error(
      `${what}: timed out waiting for the condition; caused by: [${errors.join(', ')}]`,
    )
  }

  async #tellNode(driver: string, info: NodeInfo | undefined): Promise<void> {
    const node = await this.#client.get<Node>(resources.nodes, this.#at)
    const nodeIds = nodeIdsOf(node)
    const before = textOf(nodeIds)
    if (info) nodeIds[driver] = info.node_id
    else delete nodeIds[driver]
    const labels = info?.accessible_topology?.segments ?? {}
    const known = node.metadata.labels ?? {}
    for (const [key, value] of Object.entries(labels))
      if (known[key] !== undefined && known[key] !== value)
        throw new Error(
          `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${known[key]}"`,
        )
    const after = textOf(nodeIds)
    if (after === before && Object.keys(labels).every((key) => key in known)) return
    const metadata = {
      resourceVersion: node.metadata.resourceVersion,
      annotations: { [nodeIdAnnotation]: after },
      labels,
    }
    await this.#client.patch(resources.nodes, this.#at, { metadata }, { type: 'merge' })
  }

  async #addDriver(driver: CsiNodeDriver): Promise<void> {
    const csiNode = await this.#owned()
    const drivers = csiNode.spec.drivers ?? []
    const before = drivers.find(({ name }) => name === driver.name)
    if (isSame(before, driver)) return
    const others = drivers.filter(({ name }) => name !== driver.name)
    await this.#write(csiNode, [...others, driver])
  }

  async #removeDriver(driver: string): Promise<void> {
    const csiNode = await this.#find()
    const drivers = csiNode?.spec.drivers ?? []
    const others = drivers.filter(({ name }) => name !== driver)
    if (csiNode && others.length < drivers.length) await this.#write(csiNode, others)
  }

  async #write(csiNode: CsiNode, drivers: readonly CsiNodeDriver[]): Promise<void> {
    await this.#client.update(resources.csiNodes, { ...csiNode, spec: { drivers } })
  }

  async #find(): Promise<CsiNode | undefined> {
    try {
      return await this.#client.get<CsiNode>(resources.csiNodes, this.#at)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** This Node's, made if there is none. One of an earlier Node of the same name is deleted. */
  async #owned(): Promise<CsiNode> {
    const { name } = this.#at
    const node = await this.#client.get<Node>(resources.nodes, this.#at)
    const { uid } = node.metadata
    const found = await this.#find()
    if (found === undefined)
      return this.#client.create<CsiNode>(resources.csiNodes, {
        metadata: {
          name,
          annotations: { [migratedAnnotation]: migratedPlugins.map(({ plugin }) => plugin).join() },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
        },
        spec: { drivers: [] },
      })
    const owners = found.metadata.ownerReferences ?? []
    if (owners.some((owner) => owner.kind === 'Node' && owner.uid === uid)) return found
    await this.#client.delete(resources.csiNodes, this.#at)
    throw new Error(`CSINode "${name}" was owned by different node, deleted it`)
  }
}
