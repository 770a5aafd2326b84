/**
 * Gives claims that waited for their Pod what they need on its node: a volume that is there is promised to them, for
 * others their provisioner is told the node. Upstream: VolumeBinding's PreBind.
 */
import type { Client } from '#client/client.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import { keyOf } from '#client/object-store.js'
import {
  boundByController,
  type Claim,
  claimNames,
  claimReference,
  type StorageClass,
  selectedNode,
  type Volume,
} from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { NodeInfo } from './node-info.js'
import { type CsiNode, volumeLimits } from './volume-limits.js'
import {
  type ClaimFindings,
  inspectClaims,
  type VolumeStores,
  volumeProblem,
  volumesOnNode,
} from './volumes.js'

export class VolumeBinding {
  readonly #client: Client
  readonly #claims: Informer<Claim>
  readonly #volumes: Informer<Volume>
  readonly #classes: Informer<StorageClass>
  readonly #csiNodes: Informer<CsiNode>
  /** Promises under way, which the watch does not show yet: volume → key of the claim. */
  readonly #promises = new Map<string, string>()

  /** `changed` is told when a Pod might fit that did not before. */
  constructor(client: Client, informers: InformerFactory, changed: () => void) {
    this.#client = client
    this.#claims = informers.for<Claim>(resources.persistentVolumeClaims)
    this.#volumes = informers.for<Volume>(resources.persistentVolumes)
    this.#classes = informers.for<StorageClass>(resources.storageClasses)
    this.#csiNodes = informers.for<CsiNode>(resources.csiNodes)
    for (const informer of [this.#claims, this.#volumes, this.#classes, this.#csiNodes])
      informer.handle({ onAdd: changed, onUpdate: changed })
  }

  get #stores(): VolumeStores {
    return {
      claims: this.#claims.store,
      volumes: this.#volumes.store,
      classes: this.#classes.store,
    }
  }

  inspect(pod: Pod): ClaimFindings {
    return inspectClaims(pod, this.#stores)
  }

  /** What rules nodes out for the Pod; `nodes` are all, with what runs on them. */
  problems(pod: Pod, findings: ClaimFindings, nodes: readonly NodeInfo[]) {
    const { waiting, bound, exclusive } = findings
    if (waiting.length + bound.length + exclusive.length === 0) return undefined
    const used = new Set<string>()
    if (exclusive.length > 0)
      for (const info of nodes)
        for (const other of info.pods.values())
          if (other.metadata.namespace === pod.metadata.namespace && keyOf(other) !== keyOf(pod))
            for (const name of claimNames(other)) used.add(name)
    const volumes = waiting.length > 0 ? this.#free(findings) : []
    const isTooMany = volumeLimits(pod, this.#stores, (name) => this.#csiNodes.store.get(name))
    return (info: NodeInfo) =>
      volumeProblem(findings, {
        volumes,
        node: info.node!,
        usesClaim: (name) => used.has(name),
        hasTooMany: isTooMany?.(info) ?? false,
      })
  }

  #free({ waiting }: ClaimFindings): Volume[] {
    const own = new Set(waiting.map(({ claim }) => keyOf(claim)))
    return this.#volumes.store.list().filter(({ metadata }) => {
      const promisedTo = this.#promises.get(metadata.name!)
      return promisedTo === undefined || own.has(promisedTo)
    })
  }

  /** The claims are bound by the controller of volumes after this. */
  async bind(findings: ClaimFindings, { node }: NodeInfo): Promise<void> {
    const chosen = volumesOnNode(findings, this.#free(findings), node!)
    for (const [claim, volume] of chosen ?? []) {
      if (volume === undefined) await this.#selectNode(claim, node!.metadata.name!)
      else if (volume.spec.claimRef?.uid !== claim.metadata.uid) await this.#promise(claim, volume)
    }
  }

  async #promise(claim: Claim, volume: Volume): Promise<void> {
    const name = volume.metadata.name!
    this.#promises.set(name, keyOf(claim))
    try {
      const annotations = { ...volume.metadata.annotations, [boundByController]: 'yes' }
      this.#volumes.observe(
        await this.#client.update(resources.persistentVolumes, {
          ...volume,
          metadata: { ...volume.metadata, annotations },
          spec: { ...volume.spec, claimRef: claimReference(claim) },
        }),
      )
    } finally {
      this.#promises.delete(name)
    }
  }

  async #selectNode({ metadata }: Claim, node: string): Promise<void> {
    if (metadata.annotations?.[selectedNode] !== undefined) return
    const { namespace, name, uid, resourceVersion } = metadata
    await this.#client.patch(
      resources.persistentVolumeClaims,
      { namespace, name: name! },
      { metadata: { uid, resourceVersion, annotations: { [selectedNode]: node } } },
      { type: 'merge' },
    )
  }
}
