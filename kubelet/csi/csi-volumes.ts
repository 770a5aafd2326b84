/**
 * The volumes of CSI drivers on this node: which Pods have them, what is staged, and what the Node's status says to be in
 * use. Calls for one volume take turns. What was mounted is also in files, so that a kubelet that starts again undoes it.
 */
import { sleep } from '#async/sleep.js'
import { uniqueName } from '#client/csi-volume.js'
import { messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Log } from '#client/log.js'
import { textOf } from '../grpc/error-text.js'
import type { ObjectReader } from '../object-reader.js'
import type { Pod } from '../pod.js'
import { Turns } from '../turns.js'
import { untilDone } from '../until-done.js'
import type { CsiExpander } from './csi-expander.js'
import type { CsiFolders } from './csi-folders.js'
import type { CsiMounter } from './csi-mounter.js'
import type { CsiVolume } from './csi-volume.js'
import { mountError, NotAttached } from './mount-error.js'

interface CsiVolumesOptions {
  readonly nodeName: string
  readonly reader: ObjectReader
  readonly mounter: CsiMounter
  readonly expander: Pick<CsiExpander, 'expand'>
  readonly events: EventRecorder
  readonly folders: CsiFolders
  readonly log: Log
  /** Writes the Node's status, with what is in use. */
  readonly report: () => Promise<void>
  /** Ends every retry: the next kubelet finds the files. */
  readonly signal: AbortSignal
}

/** One volume on this node, whatever Pods have it. */
interface NodeVolume {
  readonly driver: string
  readonly volumeHandle: string
  /** uids of Pods that have it or are about to. */
  readonly users: Set<string>
  /** Undefined for one that an earlier kubelet has mounted: then the Node's status tells. */
  isAttached: boolean | undefined
  /** The Node's status says that it is in use. */
  isTold: boolean
  /** By this kubelet. */
  isStaged: boolean
  releasing: Promise<void> | undefined
}
/** One volume of one Pod. */
interface Use {
  readonly node: NodeVolume
  readonly specName: string
  /** By this kubelet. */
  isMounted: boolean
  /** Its containers may start. */
  isReady: boolean
  /** The driver wants to be asked again now and then. */
  isRepublished: boolean
  /** A claim's, which may become larger. */
  readonly canGrow: boolean
}

const retryMs = { baseMs: 500, maxMs: 122_000 }
/** A Pod waits no longer than this for its volume to be unstaged; upstream's does not wait at all. */
const releaseWaitMs = 1_000

export class CsiVolumes {
  readonly #options: CsiVolumesOptions
  readonly #turns = new Turns()
  readonly #volumes = new Map<string, NodeVolume>()
  /** By Pod and spec name. */
  readonly #uses = new Map<string, Map<string, Use>>()

  constructor(options: CsiVolumesOptions) {
    this.#options = options
  }

  /** Learns what an earlier kubelet has mounted. */
  async open(): Promise<void> {
    const { folders } = this.#options
    for (const { driverName, volumeHandle } of await folders.staged())
      this.#volume({ driver: driverName, volumeHandle })
    for (const { podUid, specName, data } of await folders.published()) {
      const { driverName: driver, volumeHandle } = data
      const isEphemeral = data.volumeLifecycleMode === 'Ephemeral'
      this.#use(podUid, { specName, driver, volumeHandle, isEphemeral })
    }
  }

  /** The Pods of this node are known: what no Pod has, though an earlier kubelet has staged it, is unstaged. */
  releaseUnused(): void {
    for (const volume of this.#volumes.values()) void this.#release(volume)
  }

  /** Names for the Node's status, which said `before`. */
  inUse(before: readonly string[]): string[] {
    return [...this.#volumes.values()]
      .filter(({ isAttached }) => isAttached !== false)
      .map((volume) => ({ name: uniqueName(volume), isSure: volume.isAttached === true }))
      .filter(({ name, isSure }) => isSure || before.includes(name))
      .map(({ name }) => name)
      .sort()
  }

  /**
   * Yields the volume's folder. Throws MountError, or NotAttached while the controller has to act first. Nothing is
   * mounted for a Pod after `ended`.
   */
  async mount(pod: Pod, volume: CsiVolume, ended: AbortSignal): Promise<string> {
    ended.throwIfAborted()
    const { uid } = pod.metadata
    const use = this.#use(uid, volume)
    await this.#inTurn(use.node, () => this.#mount(pod, volume, use, ended))
    return this.#options.folders.target(uid, volume.specName)
  }

  /** Whether something of the Pod has to be unmounted. */
  holds(podUid: string): boolean {
    return this.#uses.has(podUid)
  }

  /** True where a volume is looked at again now and then: its driver wants that, or it may have become larger. */
  isFollowed(podUid: string): boolean {
    const uses = [...(this.#uses.get(podUid)?.values() ?? [])]
    return uses.some(({ isRepublished, canGrow }) => isRepublished || canGrow)
  }

  /** Throws what the first driver that fails has said; the others are asked all the same. */
  async unmountPod(podUid: string): Promise<void> {
    const uses = [...(this.#uses.get(podUid)?.values() ?? [])]
    if (uses.length === 0) return
    const outcomes = await Promise.allSettled(
      uses.map((use) => this.#inTurn(use.node, () => this.#unmount(podUid, use))),
    )
    const released = Promise.all(uses.map(({ node }) => this.#release(node)))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    await Promise.race([released, sleep(releaseWaitMs)])
  }

  #inTurn(volume: NodeVolume, act: () => Promise<void>): Promise<void> {
    return this.#turns.next([uniqueName(volume)], act)
  }

  #volume({ driver, volumeHandle }: Pick<NodeVolume, 'driver' | 'volumeHandle'>): NodeVolume {
    const key = uniqueName({ driver, volumeHandle })
    const known = this.#volumes.get(key)
    if (known) return known
    const volume: NodeVolume = {
      driver,
      volumeHandle,
      users: new Set(),
      isAttached: undefined,
      isTold: false,
      isStaged: false,
      releasing: undefined,
    }
    this.#volumes.set(key, volume)
    return volume
  }

  /** From now on the Pod's end looks at the volume. */
  #use(
    podUid: string,
    volume: Pick<CsiVolume, 'specName' | 'driver' | 'volumeHandle' | 'isEphemeral'>,
  ): Use {
    const { specName } = volume
    const ofPod = this.#uses.get(podUid) ?? new Map<string, Use>()
    this.#uses.set(podUid, ofPod)
    const known = ofPod.get(specName)
    if (known) return known
    const node = this.#volume(volume)
    if (volume.isEphemeral) node.isAttached = false
    node.users.add(podUid)
    const canGrow = !volume.isEphemeral
    const use = { node, specName, isMounted: false, isReady: false, isRepublished: false, canGrow }
    ofPod.set(specName, use)
    return use
  }

  async #mount(pod: Pod, volume: CsiVolume, use: Use, ended: AbortSignal): Promise<void> {
    ended.throwIfAborted()
    if (use.isMounted && !use.isRepublished) return this.#grow(pod, volume, use)
    const { reader, mounter } = this.#options
    const driver = await reader.csiDriver(volume.driver)
    const isAttached = !volume.isEphemeral && driver?.spec.attachRequired !== false
    use.node.isAttached = isAttached
    const publishContext = isAttached ? await this.#attached(volume, use.node) : {}
    const mount = { pod, volume, driver, publishContext }
    if (!volume.isEphemeral && !use.node.isStaged) {
      await mounter.stage(mount)
      use.node.isStaged = true
    }
    ended.throwIfAborted()
    await mounter.publish(mount, { again: use.isMounted })
    use.isMounted = true
    use.isRepublished = driver?.spec.requiresRepublish === true
    await this.#grow(pod, volume, use)
  }

  /**
   * Before the containers start it has to succeed: throws MountError. After that a failure is told, and it is tried again
   * when the volume is looked at the next time.
   */
  async #grow(pod: Pod, volume: CsiVolume, use: Use): Promise<void> {
    try {
      if (volume.growth !== undefined)
        await this.#options.expander.expand(pod, volume, volume.growth)
      use.isReady = true
    } catch (error) {
      const why = messageOf(error)
      if (!use.isReady) throw mountError('MountDevice', volume, why, ' while expanding volume')
      const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.specName}" : ${why}`
      this.#options.events.event(pod, 'Warning', 'VolumeResizeFailed', message)
    }
  }

  /** The controller detaches no volume that is in use, and says what it has attached: first the one, then the other. */
  async #attached(volume: CsiVolume, node: NodeVolume): Promise<Readonly<Record<string, string>>> {
    const { nodeName, reader, mounter, report, log } = this.#options
    const waits = new NotAttached([volume.specName])
    if (!node.isTold) {
      await report().catch((error) => {
        log.info({ error: messageOf(error) }, 'volumes in use were not reported')
        throw waits
      })
      node.isTold = true
    }
    const attached = await reader.attachedVolumes(nodeName)
    if (!attached.includes(uniqueName(volume))) throw waits
    return mounter.attachmentOf(volume)
  }

  async #unmount(podUid: string, use: Use): Promise<void> {
    const { specName, node } = use
    const ofPod = this.#uses.get(podUid)
    if (ofPod?.get(specName) !== use) return
    const { folders, mounter } = this.#options
    const target = folders.target(podUid, specName)
    const data = await folders.noteOf(target)
    if (data) {
      await mounter.unpublish(target, data).catch((error) => {
        throw new Error(
          `UnmountVolume.TearDown failed for volume "${specName}" : ${messageOf(error)}`,
        )
      })
    }
    ofPod.delete(specName)
    if (ofPod.size === 0) this.#uses.delete(podUid)
    if (![...ofPod.values()].some((other) => other.node === node)) node.users.delete(podUid)
  }

  /** Unstages a volume that no Pod has any more; tried again until it is done or a Pod has it. */
  #release(volume: NodeVolume): Promise<void> {
    volume.releasing ??= this.#releaseUntilDone(volume).finally(() => {
      volume.releasing = undefined
    })
    return volume.releasing
  }

  async #releaseUntilDone(volume: NodeVolume): Promise<void> {
    const { log, signal } = this.#options
    const { driver, volumeHandle } = volume
    await untilDone(
      async () => {
        if (volume.users.size === 0) await this.#inTurn(volume, () => this.#releaseOnce(volume))
      },
      (error) =>
        log.warn({ driver, volumeHandle, error: textOf(error) }, 'a volume was not unstaged'),
      { signal, retryMs },
    )
  }

  async #releaseOnce(volume: NodeVolume): Promise<void> {
    if (volume.users.size > 0) return
    const { mounter, folders, report } = this.#options
    const { driver, volumeHandle } = volume
    volume.isStaged = false
    if ((await folders.noteOf(folders.staging(driver, volumeHandle))) !== undefined)
      await mounter.unstage(driver, volumeHandle)
    if (volume.users.size > 0) return
    const { isAttached } = volume
    if (isAttached !== false) {
      volume.isAttached = false
      await report().catch((error) => {
        volume.isAttached = isAttached
        throw error
      })
      volume.isTold = false
    }
    if (volume.users.size === 0) this.#volumes.delete(uniqueName(volume))
  }
}
