/**
 * Makes VolumeAttachments, by which CSI drivers attach the volumes of Pods to nodes and detach them again, and lists them
 * in the Node's status; upstream's persistentvolume-attach-detach-controller. Volumes that are folders are not attached.
 */

import type { PersistedObject } from '#api/object.js'
import type { VolumeAttachment } from '#client/csi-objects.js'
import { attachmentName, uniqueName } from '#client/csi-volume.js'
import { isAlreadyExists, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { keyOf, type ObjectStore } from '#client/object-store.js'
import { type Claim, claimNames, type Volume } from '#client/persistent-volume.js'
import { isNodeReady, isPodTerminal, type Node, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { podsByClaim } from '../persistentvolume/pods-by-claim.js'
import { podsOfNodes } from '../pods/pods-of-nodes.js'
import { readLive } from '../read-live.js'
import { Asked } from './asked.js'
import { hasFailed, isShared, lookAgainMs, mayDetach, type Wanted } from './attachments.js'
import { Detaching } from './detaching.js'
import { asGone, isManaged, listOf, volumeSignature } from './nodes.js'
import { PodEvents } from './pod-events.js'

const component = 'attachdetach-controller'

class AttachDetach {
  readonly #context: ControllerContext
  readonly #podsOfNode: (name: string) => readonly Pod[]
  readonly #pods: Informer<Pod>
  /** By attachment, since when no Pod wants it. */
  readonly #unwantedSince = new Map<string, number>()
  /** Last states of deleted Nodes that still have volumes. */
  readonly #gone = new Map<string, Node>()
  readonly #asked: Asked
  readonly #detaching: Detaching
  readonly #events: PodEvents
  /** By node, attachments that wait because another node has the volume, so that each is reported once. */
  readonly #refused = new Map<string, ReadonlySet<string>>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#asked = new Asked(context.clock)
    this.#detaching = new Detaching(context.clock)
    this.#events = new PodEvents(context.recorder(component))
    this.#podsOfNode = podsOfNodes(context)
    this.#pods = podsByClaim(context)
    const { store } = context.informers.for<VolumeAttachment>(resources.volumeAttachments)
    store.addIndex('node', ({ spec }) => [spec.nodeName])
    store.addIndex('volume', ({ spec }) => [spec.source.persistentVolumeName ?? ''])
  }

  /** Puts the names of Nodes whose volumes may have to change into the queue. */
  watch(queue: WorkQueue): void {
    this.#watchPods(queue)
    this.#watchNodes(queue)
    this.#watchAttachments(queue)
    this.#watchVolumes(queue)
  }

  #watchPods(queue: WorkQueue): void {
    const look = (pod: Pod): void => {
      if (pod.spec.nodeName && claimNames(pod).length > 0) queue.add(pod.spec.nodeName)
    }
    this.#pods.handle({
      onAdd: look,
      onDelete: look,
      onUpdate(next, previous) {
        const isSame =
          next.spec.nodeName === previous.spec.nodeName &&
          isPodTerminal(next) === isPodTerminal(previous)
        if (!isSame) look(next)
      },
    })
  }

  #watchNodes(queue: WorkQueue): void {
    this.#informer<Node>(resources.nodes).handle({
      onAdd: (node) => queue.add(node.metadata.name),
      onDelete: (node) => {
        this.#gone.set(node.metadata.name, asGone(node))
        queue.add(node.metadata.name)
      },
      onUpdate(next, previous) {
        if (volumeSignature(next) !== volumeSignature(previous)) queue.add(next.metadata.name)
      },
    })
  }

  #watchAttachments(queue: WorkQueue): void {
    // Another node may wait for it.
    const lookAtNodesOf = (attachment: VolumeAttachment): void => {
      const volume = this.#volumeBehind(attachment)
      if (volume !== undefined) this.#lookAtVolume(queue, volume)
    }
    this.#informer<VolumeAttachment>(resources.volumeAttachments).handle({
      onAdd: ({ spec }) => queue.add(spec.nodeName),
      onUpdate: (next, previous) => {
        const isAnswered = this.#asked.leftMs(next) === 0
        this.#tellOutcome(next, previous)
        queue.add(next.spec.nodeName)
        if (isAnswered) lookAtNodesOf(next)
      },
      onDelete: (attachment) => {
        this.#unwantedSince.delete(attachment.metadata.name)
        this.#asked.end(attachment.metadata.name)
        this.#detaching.end(attachment)
        lookAtNodesOf(attachment)
      },
    })
  }

  #watchVolumes(queue: WorkQueue): void {
    this.#informer<Claim>(resources.persistentVolumeClaims).handle({
      onAdd: (claim) => this.#lookAtPods(queue, keyOf(claim)),
      onUpdate: (next, previous) => {
        if (next.status?.phase !== previous.status?.phase) this.#lookAtPods(queue, keyOf(next))
      },
    })
    this.#informer<Volume>(resources.persistentVolumes).handle({
      onAdd: (volume) => this.#lookAtVolume(queue, volume),
      onUpdate: (next, previous) => {
        if (next.spec.claimRef?.uid === previous.spec.claimRef?.uid) return
        this.#lookAtVolume(queue, next)
        this.#lookAtVolume(queue, previous)
      },
    })
    const all = (): void => {
      for (const name of this.#store<Node>(resources.nodes).keys()) queue.add(name)
    }
    this.#informer(resources.csiDrivers).handle({ onAdd: all, onUpdate: all })
  }

  /** Puts the nodes of the Pods that have the claim into the queue. */
  #lookAtPods(queue: WorkQueue, claimKey: string): void {
    for (const { spec } of this.#pods.store.byIndex('claim', claimKey))
      if (spec.nodeName) queue.add(spec.nodeName)
  }

  /** Likewise for the Pods that the volume is for, and the nodes that have it. */
  #lookAtVolume(queue: WorkQueue, { metadata, spec: { claimRef } }: Volume): void {
    if (claimRef !== undefined) this.#lookAtPods(queue, keyOf({ metadata: claimRef }))
    const attachments = this.#store<VolumeAttachment>(resources.volumeAttachments)
    for (const { spec } of attachments.byIndex('volume', metadata.name)) queue.add(spec.nodeName)
  }

  #informer<T extends PersistedObject>(ref: ResourceRef): Informer<T> {
    return this.#context.informers.for<T>(ref)
  }

  #store<T extends PersistedObject>(ref: ResourceRef): ObjectStore<T> {
    return this.#informer<T>(ref).store
  }

  /** The volume of a claim, if it is one that has to be attached. */
  #volumeOf(namespace: string, claimName: string): Volume | undefined {
    const claim = this.#store<Claim>(resources.persistentVolumeClaims).get(
      `${namespace}/${claimName}`,
    )
    if (claim?.status?.phase !== 'Bound' || !claim.spec.volumeName) return undefined
    const volume = this.#store<Volume>(resources.persistentVolumes).get(claim.spec.volumeName)
    if (volume?.spec.csi === undefined || volume.spec.claimRef?.uid !== claim.metadata.uid)
      return undefined
    const driver = this.#store<PersistedObject>(resources.csiDrivers).get(volume.spec.csi.driver)
    // An unknown driver may need attaching.
    return driver?.spec?.attachRequired === false ? undefined : volume
  }

  #wantedOn(node: string): Map<string, Wanted> {
    const wanted = new Map<string, Wanted>()
    for (const pod of this.#podsOfNode(node)) {
      if (isPodTerminal(pod)) continue
      for (const claim of claimNames(pod)) {
        const volume = this.#volumeOf(pod.metadata.namespace, claim)
        if (volume === undefined) continue
        const name = attachmentName(volume.spec.csi!, node)
        const entry = wanted.get(name) ?? { name, volume, pods: [] }
        entry.pods.push(pod)
        wanted.set(name, entry)
      }
    }
    return wanted
  }

  async sync(nodeName: string): Promise<{ afterMs: number } | undefined> {
    const node = this.#store<Node>(resources.nodes).get(nodeName)
    if (node !== undefined) this.#gone.delete(nodeName)
    const wanted =
      node === undefined || isManaged(node) ? this.#wantedOn(nodeName) : new Map<string, Wanted>()
    const there = this.#store<VolumeAttachment>(resources.volumeAttachments).byIndex(
      'node',
      nodeName,
    )
    const known = new Set(there.filter((a) => !hasFailed(a)).map(({ metadata }) => metadata.name))
    if (there.length === 0) this.#gone.delete(nodeName)
    let dueMs = Math.min(this.#tellSilent(there, wanted), this.#tellLeaving(there, wanted))
    const refused = new Set<string>()
    // Pods on a deleted node keep their volumes until they are gone, too; no more are attached there.
    for (const entry of isManaged(node) ? wanted.values() : []) {
      if (known.has(entry.name)) continue
      const pendingMs = isShared(entry.volume) ? 0 : this.#pendingMs(entry)
      dueMs = Math.min(dueMs, pendingMs || dueMs)
      if (pendingMs === 0 && !(await this.#attach(nodeName, entry))) refused.add(entry.name)
    }
    if (refused.size > 0) this.#refused.set(nodeName, refused)
    else this.#refused.delete(nodeName)
    const leaving = new Set(there.filter((attachment) => this.#detaching.has(attachment)))
    for (const attachment of there) {
      const { name } = attachment.metadata
      if (wanted.has(name)) this.#unwantedSince.delete(name)
      else if (this.#mayLeave(attachment, node)) leaving.add(attachment)
      else dueMs = Math.min(dueMs, this.#asked.leftMs(attachment) || this.#lookAgainMs(attachment))
    }
    if (node !== undefined) await this.#tellNode(node, there, leaving)
    for (const attachment of leaving) await this.#detach(attachment)
    return Number.isFinite(dueMs) ? { afterMs: dueMs } : undefined
  }

  /** Tells Pods of drivers that do not answer, again and again; says when the next one is due. */
  #tellSilent(there: readonly VolumeAttachment[], wanted: ReadonlyMap<string, Wanted>): number {
    let dueMs = Number.POSITIVE_INFINITY
    for (const attachment of there) {
      const { name } = attachment.metadata
      if (this.#detaching.has(attachment)) continue
      if (attachment.status?.attached || attachment.status?.attachError) {
        this.#asked.end(name)
        continue
      }
      const asked = this.#asked.for(name)
      if (asked !== undefined && this.#asked.leftMs(attachment) === 0) {
        const { attacher } = attachment.spec
        const handle = asked.volume.spec.csi?.volumeHandle
        const problem = `timed out waiting for external-attacher of ${attacher} CSI driver to attach volume ${handle}`
        this.#events.failed(asked, problem)
        this.#asked.end(name)
      }
      const entry = wanted.get(name)
      if (entry !== undefined) this.#asked.begin(entry)
      dueMs = Math.min(dueMs, this.#asked.leftMs(attachment) || dueMs)
    }
    return dueMs
  }

  /** Tells Pods that want volumes back whose drivers cannot let go of them; says when the next may be due. */
  #tellLeaving(there: readonly VolumeAttachment[], wanted: ReadonlyMap<string, Wanted>): number {
    const left = there.map((attachment) => {
      const entry = wanted.get(attachment.metadata.name)
      if (entry !== undefined && this.#detaching.isStuck(attachment))
        this.#events.failed(entry, 'volume attachment is being deleted')
      return this.#detaching.leftMs(attachment) || Number.POSITIVE_INFINITY
    })
    return Math.min(...left)
  }

  #elsewhere({ name, volume }: Wanted): VolumeAttachment[] {
    return this.#store<VolumeAttachment>(resources.volumeAttachments)
      .byIndex('volume', volume.metadata.name)
      .filter((other) => other.metadata.name !== name && this.#volumeBehind(other) !== undefined)
  }

  /** How long drivers may still take to attach the volume elsewhere or to detach it there. */
  #pendingMs(entry: Wanted): number {
    const left = this.#elsewhere(entry).map((other) => this.#detaching.leftMs(other))
    return Math.max(this.#asked.elsewhereMs(entry), ...left)
  }

  /** False while another node has the volume. One where that failed, or whose driver cannot let go of it, counts for nothing. */
  async #attach(nodeName: string, wanted: Wanted): Promise<boolean> {
    const { name, volume } = wanted
    const attachments = this.#informer<VolumeAttachment>(resources.volumeAttachments)
    const source = { persistentVolumeName: volume.metadata.name }
    const others = this.#elsewhere(wanted)
      .filter((other) => !this.#detaching.has(other) && !hasFailed(other))
      .map(({ spec }) => spec.nodeName)
    if (!isShared(volume) && others.length > 0) {
      if (this.#refused.get(nodeName)?.has(name)) return false
      const users = others.flatMap(
        (other) => this.#wantedOn(other).get(attachmentName(volume.spec.csi!, other))?.pods ?? [],
      )
      this.#events.taken(wanted, users)
      return false
    }
    // It is there and has failed: that is for its driver to try again.
    if (attachments.store.get(name) !== undefined) return true
    this.#asked.begin(wanted)
    try {
      attachments.observe(
        await this.#context.client.create<VolumeAttachment>(resources.volumeAttachments, {
          metadata: { name },
          spec: { attacher: volume.spec.csi!.driver, nodeName, source },
        }),
      )
    } catch (error) {
      if (isAlreadyExists(error)) return true
      this.#asked.end(name)
      throw error
    }
    return true
  }

  /** Unless somebody else has made the attachment, which is then named otherwise, or it is of an unknown volume. */
  #volumeBehind({ metadata, spec }: VolumeAttachment): Volume | undefined {
    const name = spec.source.persistentVolumeName ?? ''
    const volume = this.#store<Volume>(resources.persistentVolumes).get(name)
    const csi = volume?.spec.csi
    return csi && metadata.name === attachmentName(csi, spec.nodeName) ? volume : undefined
  }

  #mayLeave(attachment: VolumeAttachment, node: Node | undefined): boolean {
    const volume = this.#volumeBehind(attachment)
    if (volume === undefined || this.#asked.leftMs(attachment) > 0) return false
    const name = attachment.metadata.name
    const now = this.#context.clock.now()
    if (!this.#unwantedSince.has(name)) this.#unwantedSince.set(name, now)
    return mayDetach(node ?? this.#gone.get(attachment.spec.nodeName), volume, {
      unwantedForMs: now - this.#unwantedSince.get(name)!,
      isReady: node !== undefined && isNodeReady(node),
    })
  }

  #lookAgainMs({ metadata }: VolumeAttachment): number {
    const now = this.#context.clock.now()
    return lookAgainMs(now - (this.#unwantedSince.get(metadata.name) ?? now))
  }

  /** A kubelet mounts only listed volumes, so a volume is taken off the list before it is detached. */
  async #tellNode(
    node: Node,
    there: readonly VolumeAttachment[],
    leaving: ReadonlySet<VolumeAttachment>,
  ): Promise<void> {
    const names = new Set(
      there
        .filter((attachment) => attachment.status?.attached && !leaving.has(attachment))
        .map((attachment) => this.#volumeBehind(attachment))
        .flatMap((volume) => (volume === undefined ? [] : [uniqueName(volume.spec.csi!)])),
    )
    const volumesAttached = listOf(names, node.status.volumesAttached)
    if (volumesAttached === undefined) return
    try {
      this.#informer<Node>(resources.nodes).observe(
        await this.#context.client.patch<Node>(
          resources.nodes,
          { name: node.metadata.name },
          {
            metadata: { uid: node.metadata.uid },
            status: { volumesAttached: volumesAttached.length > 0 ? volumesAttached : null },
          },
          { type: 'merge', subresource: 'status' },
        ),
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /**
   * A kubelet may have begun to use the volume before it was taken off the list, and the watch may not have told.
   * Upstream: verifyVolumeIsSafeToDetach.
   */
  async #detach(attachment: VolumeAttachment): Promise<void> {
    if (this.#detaching.has(attachment)) return
    const at = { name: attachment.spec.nodeName }
    if (!this.#mayLeave(attachment, await readLive<Node>(this.#context, resources.nodes, at)))
      return
    this.#detaching.begin(attachment)
    if (attachment.metadata.deletionTimestamp !== undefined) return
    try {
      await deleteObject(this.#context, resources.volumeAttachments, attachment)
    } catch (error) {
      this.#detaching.end(attachment)
      throw error
    }
  }

  /** Reports the outcome of an attachment as Events of the Pods that wait for it. */
  #tellOutcome({ metadata, spec, status }: VolumeAttachment, before: VolumeAttachment): void {
    const entry = this.#asked.for(metadata.name) ?? this.#wantedOn(spec.nodeName).get(metadata.name)
    if (status?.attached || status?.attachError) this.#asked.end(metadata.name)
    if (entry === undefined) return
    if (status?.attached && !before.status?.attached) this.#events.attached(entry)
    const { message = '', time } = status?.attachError ?? {}
    if (status?.attachError === undefined || time === before.status?.attachError?.time) return
    this.#events.failed(entry, message)
  }
}

export const attachDetachController: Controller = {
  name: 'persistentvolume-attach-detach-controller',
  serviceAccount: 'attachdetach-controller',
  start(context) {
    const attachDetach = new AttachDetach(context)
    const queue = newQueue(context, 'attach_detach')
    attachDetach.watch(queue)
    return queueRun(context, queue, (name) => attachDetach.sync(name))
  },
}
