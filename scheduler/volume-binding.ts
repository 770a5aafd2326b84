/**
 * Gives claims that waited for their Pod what they need on its node: a volume that is there is promised to them, for
 * others their provisioner is told the node. Upstream: VolumeBinding's PreBind.
 */

import type { Clock } from '#api/clock.js'
import { Changes } from '#async/changes.js'
import type { Client } from '#client/client.js'
import type { CsiDriver, CsiNode, VolumeAttachment } from '#client/csi-objects.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import {
  boundTo,
  type Claim,
  type StorageClass,
  selectedNode,
  type Volume,
} from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import { AssumedVolumes, hasToBeWritten } from './assumed-volumes.js'
import { areBound, type ChosenVolumes } from './bound-claims.js'
import type { Filter } from './filter.js'
import type { NodeInfo } from './node-info.js'
import { type CsiStorageCapacity, hasCapacity, largestVolume } from './storage-capacity.js'
import { type ClaimFindings, inspectClaims, type VolumeStores } from './volume-claims.js'
import { volumeFilter } from './volume-filter.js'
import { volumeLimits } from './volume-limits.js'
import { type Storage, volumesOnNode } from './waiting-claims.js'
import {
  type Concerns,
  nobody,
  takesMoreVolumes,
  usesVolumeClaim,
  usesVolumeClaims,
} from './waking-changes.js'

const byNode = 'node'
/** How often upstream looks; here changes are seen at once, and only the time and the node have to be looked at. */
const lookMs = 1_000

interface VolumeBindingDeps {
  client: Client
  informers: InformerFactory
  clock: Clock
}

export class VolumeBinding {
  readonly #client: Client
  readonly #claims: Informer<Claim>
  readonly #volumes: Informer<Volume>
  readonly #classes: Informer<StorageClass>
  readonly #csiNodes: Informer<CsiNode>
  readonly #drivers: Informer<CsiDriver>
  readonly #capacities: Informer<CsiStorageCapacity>
  readonly #attachments: Informer<VolumeAttachment>
  readonly #clock: Clock
  readonly #changes = new Changes()
  readonly #assumed = new AssumedVolumes()

  /** `changed` is told when a Pod might fit that did not before. */
  constructor(
    { client, informers, clock }: VolumeBindingDeps,
    changed: (concerns: Concerns) => void,
  ) {
    this.#client = client
    this.#clock = clock
    this.#claims = informers.for<Claim>(resources.persistentVolumeClaims)
    this.#volumes = informers.for<Volume>(resources.persistentVolumes)
    this.#classes = informers.for<StorageClass>(resources.storageClasses)
    this.#csiNodes = informers.for<CsiNode>(resources.csiNodes)
    this.#drivers = informers.for<CsiDriver>(resources.csiDrivers)
    this.#capacities = informers.for<CsiStorageCapacity>(resources.csiStorageCapacities)
    this.#attachments = informers.for<VolumeAttachment>(resources.volumeAttachments)
    this.#attachments.store.addIndex(byNode, ({ spec }) => [spec.nodeName])
    const claimChanged = (claim: Claim): void => {
      this.#changes.tell()
      changed(usesVolumeClaim(claim))
    }
    this.#claims.handle({ onAdd: claimChanged, onUpdate: claimChanged })
    const volumeChanged = (): void => {
      this.#changes.tell()
      changed(usesVolumeClaims)
    }
    this.#volumes.handle({ onAdd: volumeChanged, onUpdate: volumeChanged })
    const helpsIf = (isBetter: boolean): void => changed(isBetter ? usesVolumeClaims : nobody)
    this.#classes.handle({
      onAdd: () => helpsIf(true),
      onUpdate: (now, before) =>
        helpsIf(!jsonEqual(now.allowedTopologies, before.allowedTopologies)),
    })
    this.#csiNodes.handle({
      onAdd: () => helpsIf(true),
      onUpdate: (now, before) => helpsIf(takesMoreVolumes(now, before)),
    })
    this.#drivers.handle({
      onUpdate: (now, before) =>
        helpsIf(before.spec.storageCapacity === true && now.spec.storageCapacity !== true),
    })
    this.#capacities.handle({
      onAdd: () => helpsIf(true),
      onUpdate: (now, before) => helpsIf(largestVolume(now) > largestVolume(before)),
    })
    this.#attachments.handle({ onDelete: () => helpsIf(true) })
  }

  get #stores(): VolumeStores {
    return {
      claims: this.#claims.store,
      volumes: this.#volumes.store,
      classes: this.#classes.store,
    }
  }

  inspect(pod: Pod): ClaimFindings {
    const { waiting, ...findings } = inspectClaims(pod, this.#stores)
    return {
      ...findings,
      waiting: waiting.map((one) => ({ ...one, claim: this.#assumed.claim(one.claim) })),
    }
  }

  /** What rules nodes out for the Pod; `nodes` are all, with what runs on them. */
  filter(pod: Pod, findings: ClaimFindings, nodes: readonly NodeInfo[]): Filter | undefined {
    const storage = this.#storage(findings)
    const bindingProblem = (node: Node): string | undefined => {
      const found = volumesOnNode(findings.waiting, node, storage)
      return typeof found === 'string' ? found : undefined
    }
    const isTooMany = volumeLimits(pod, this.#stores, {
      csiNode: (name) => this.#csiNodes.store.get(name),
      attachmentsTo: (node) => this.#attachments.store.byIndex(byNode, node),
    })
    return volumeFilter(pod, { findings, isTooMany, bindingProblem }, nodes)
  }

  #storage(findings: ClaimFindings): Storage {
    const isAsked = findings.waiting.length > 0
    return {
      volumes: isAsked ? this.#volumes.store.list().map((v) => this.#assumed.volume(v)) : [],
      hasCapacity: (claim, { provisioner }, node) =>
        hasCapacity(
          claim,
          node,
          this.#drivers.store.get(provisioner),
          this.#capacities.store.list(),
        ),
    }
  }

  /** What the claims get on the node, which nobody else gets until `bind` or `release`. */
  reserve(findings: ClaimFindings, node: Node): ChosenVolumes {
    const chosen = volumesOnNode(findings.waiting, node, this.#storage(findings))
    if (typeof chosen === 'string') throw new Error(chosen)
    this.#assumed.add(chosen, node.metadata.name)
    return chosen
  }

  release(chosen: ChosenVolumes): void {
    for (const [claim, volume] of chosen) this.#assumed.remove(claim, volume)
    this.#changes.tell()
  }

  /** The claims are bound by the controller of volumes after this. */
  async bind(chosen: ChosenVolumes, node: string): Promise<void> {
    for (const [claim, volume] of chosen) {
      if (!hasToBeWritten(claim, volume)) continue
      if (volume === undefined) await this.#selectNode(claim, node)
      else this.#volumes.observe(await this.#promise(claim, volume))
      this.#assumed.remove(claim, volume)
    }
    this.#changes.tell()
  }

  /** True when they are bound, false when the signal fires. Throws if they will not be, in upstream's words. */
  async untilBound(
    chosen: ChosenVolumes,
    nodeOf: () => Node,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<boolean> {
    const until = this.#clock.now() + timeoutMs
    while (!signal.aborted) {
      if (!this.#assumed.has(chosen) && areBound(chosen, nodeOf(), this.#stores)) return true
      if (this.#clock.now() > until) throw new Error('context deadline exceeded')
      await this.#changes.next(lookMs, signal)
    }
    return false
  }

  #promise(claim: Claim, volume: Volume): Promise<Volume> {
    return this.#client.update(resources.persistentVolumes, boundTo(volume, claim))
  }

  async #selectNode({ metadata }: Claim, node: string): Promise<void> {
    const { namespace, name, uid, resourceVersion } = metadata
    this.#claims.observe(
      await this.#client.patch(
        resources.persistentVolumeClaims,
        { namespace, name },
        { metadata: { uid, resourceVersion, annotations: { [selectedNode]: node } } },
        { type: 'merge' },
      ),
    )
  }
}
