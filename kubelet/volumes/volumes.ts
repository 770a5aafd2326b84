/** Volumes as folders below `<root>/pods/<uid>/volumes/<name>`. */
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { claimNameOf } from '#client/persistent-volume.js'
import { removeTree } from '#program/remove-tree.js'
import { type CsiVolume, claimedCsiVolume, inlineCsiVolume } from '../csi/csi-volume.js'
import type { CsiVolumes } from '../csi/csi-volumes.js'
import { MountError, NotAttached } from '../csi/mount-error.js'
import { fieldValue, type PodFacts, resourceValue } from '../downward.js'
import type { DataObject, ObjectReader } from '../object-reader.js'
import {
  allContainers,
  type ContainerSpec,
  type DownwardItem,
  findContainer,
  type KeyToPath,
  type Pod,
  type VolumeProjection,
  type VolumeSpec,
} from '../pod.js'
import { amountOf } from '../resource-amount.js'
import type { Mount } from '../runtime.js'
import { commonUserOf } from '../security.js'
import { Turns } from '../turns.js'
import { giveToGroup, isGroups } from '../volume-ownership.js'
import { type Files, writeAtomically } from './atomic-writer.js'
import { prepareHostPath } from './host-path.js'
import { memoryVolumeBytes, mountMemory, unmountParts, unmountVolumes } from './memory-volume.js'
import { partsFolder } from './pinned-part.js'
import { mountedPath } from './sub-path.js'

/** A volume could not be made; upstream's FailedMount. */
class VolumeError extends Error {}

const defaultMode = 0o644

const addKeys = (
  files: Files,
  source: DataObject | undefined,
  options: { items?: KeyToPath[]; mode: number; base64: boolean; what: string; optional?: boolean },
): void => {
  const { items, mode, base64, what, optional } = options
  if (!source) {
    if (optional) return
    throw new VolumeError(`${what} not found`)
  }
  const contents = new Map<string, Buffer>()
  for (const [key, value] of Object.entries(source.data ?? {})) {
    contents.set(key, Buffer.from(value, base64 ? 'base64' : 'utf8'))
  }
  for (const [key, value] of Object.entries(source.binaryData ?? {})) {
    contents.set(key, Buffer.from(value, 'base64'))
  }
  const wanted = items ?? [...contents.keys()].map((key): KeyToPath => ({ key, path: key }))
  for (const item of wanted) {
    const content = contents.get(item.key)
    if (content) files.set(item.path, { content, mode: item.mode ?? mode })
    else if (!optional) throw new VolumeError(`${what} references non-existent key: ${item.key}`)
  }
}

const addDownward = (
  files: Files,
  facts: PodFacts,
  items: DownwardItem[] | undefined,
  mode: number,
): void => {
  for (const item of items ?? []) {
    const container = item.resourceFieldRef?.containerName
      ? findContainer(facts.pod, item.resourceFieldRef.containerName)
      : facts.pod.spec.containers[0]
    const text = item.fieldRef
      ? (fieldValue(facts, item.fieldRef.fieldPath) ?? '')
      : item.resourceFieldRef && container
        ? resourceValue(facts, container, item.resourceFieldRef)
        : ''
    files.set(item.path, { content: Buffer.from(text), mode: item.mode ?? mode })
  }
}

interface VolumesOptions {
  readonly root: string
  readonly reader: ObjectReader
  readonly now: () => number
  /** Whether images, volumes in memory and parts of volumes are mounted; otherwise the latter are folders like others. */
  readonly mayMount: boolean
  readonly csi: Pick<CsiVolumes, 'mount' | 'unmountPod' | 'holds' | 'isFollowed'>
}

export class Volumes {
  readonly #options: VolumesOptions
  /** By Pod and volume, the folder of this host that a claim, or a volume of a CSI driver, stands for. */
  readonly #claimed = new Map<string, string>()
  /** What concerns one Pod, by its uid. */
  readonly #turns = new Turns()

  constructor(options: VolumesOptions) {
    this.#options = options
  }

  /** Pods that have volumes here. */
  podUids(): string[] {
    const { root } = this.#options
    return existsSync(root) ? readdirSync(root) : []
  }

  podFolder(podUid: string): string {
    return path.join(this.#options.root, podUid)
  }
  #folder(podUid: string, volume: string): string {
    return path.join(this.podFolder(podUid), 'volumes', volume)
  }

  /**
   * Makes, or brings up to date, every volume that a container of the Pod mounts. Throws VolumeError and MountError; and NotAttached, when all
   * others have been made. Nothing is mounted for the Pod after `ended`.
   */
  prepare(facts: PodFacts, ended: AbortSignal): Promise<void> {
    return this.#turns.next([facts.pod.metadata.uid], () => this.#prepare(facts, ended))
  }

  async #prepare(facts: PodFacts, ended: AbortSignal): Promise<void> {
    const unattached: string[] = []
    for (const volume of mountedVolumes(facts.pod)) {
      ended.throwIfAborted()
      try {
        await this.#prepareOne(facts, volume, ended)
      } catch (error) {
        if (error instanceof NotAttached) {
          unattached.push(volume.name)
          continue
        }
        if (volume.persistentVolumeClaim || error instanceof MountError) throw error
        const { message } = error as Error
        throw new VolumeError(`MountVolume.SetUp failed for volume "${volume.name}" : ${message}`)
      }
    }
    if (unattached.length > 0) throw new NotAttached(unattached)
  }

  /** True when what a volume shows can change while the Pod lives. */
  changes({ pod }: PodFacts): boolean {
    return mountedVolumes(pod).some(showsObjects) || this.#options.csi.isFollowed(pod.metadata.uid)
  }

  /** Undoes the mounts of CSI drivers; until that is done nothing of the Pod's folder may be removed. */
  async unmount(podUid: string): Promise<void> {
    // First: a device must not be given up while a part of it is mounted.
    await unmountParts(this.podFolder(podUid))
    await this.#options.csi.unmountPod(podUid)
  }

  /** What the Pod was about to get when it ended is waited for: it would come when its folder has gone. */
  remove(podUid: string): Promise<void> {
    return this.#turns.next([podUid], () => this.#remove(podUid))
  }

  async #remove(podUid: string): Promise<void> {
    if (this.#options.csi.holds(podUid)) throw new Error('volumes of the Pod are mounted')
    this.#options.reader.forgetTokens(podUid)
    for (const key of this.#claimed.keys())
      if (key.startsWith(`${podUid}/`)) this.#claimed.delete(key)
    await unmountVolumes(this.podFolder(podUid))
    await removeTree(this.podFolder(podUid))
  }

  /** Where a volume of the Pod lies on this host; undefined when it has none of that name. */
  folderOf({ pod }: Pick<PodFacts, 'pod'>, name: string): string | undefined {
    const volume = pod.spec.volumes?.find((candidate) => candidate.name === name)
    if (!volume) return undefined
    const { uid } = pod.metadata
    return volume.hostPath?.path ?? this.#claimed.get(`${uid}/${name}`) ?? this.#folder(uid, name)
  }

  /** Throws StartError. */
  async mountsOf(
    facts: PodFacts,
    container: ContainerSpec,
    env: ReadonlyMap<string, string>,
  ): Promise<Mount[]> {
    const { uid } = facts.pod.metadata
    const mounts: Mount[] = []
    for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
      const { name, mountPath, readOnly = false, mountPropagation } = mount
      const base = this.folderOf(facts, name)
      const volume = facts.pod.spec.volumes?.find((candidate) => candidate.name === name)
      if (base === undefined || volume?.image) continue
      mounts.push({
        volume: name,
        hostPath: await mountedPath(base, mount, {
          container: container.name,
          env,
          pinnedAt: this.#options.mayMount
            ? path.join(this.podFolder(uid), partsFolder, name, container.name, String(i))
            : undefined,
        }),
        containerPath: mountPath,
        readOnly: readOnly || (volume !== undefined && isReadOnly(volume)),
        ...(mountPropagation && mountPropagation !== 'None'
          ? { propagation: mountPropagation }
          : {}),
      })
    }
    return mounts
  }

  async #prepareOne(facts: PodFacts, volume: VolumeSpec, ended: AbortSignal): Promise<void> {
    const folder = this.#folder(facts.pod.metadata.uid, volume.name)
    if (volume.csi) {
      const inline = inlineCsiVolume(facts.pod, volume.name, volume.csi)
      return this.#mountCsi(facts, volume.name, inline, ended)
    }
    if (volume.hostPath) return prepareHostPath(volume.hostPath)
    // The runtime mounts it, once it has been pulled for a container.
    if (volume.image && this.#options.mayMount) return
    const { fsGroup } = facts.pod.spec.securityContext ?? {}
    if (volume.emptyDir) {
      const isNew = (await mkdir(folder, { recursive: true })) !== undefined
      // Any user that the Pod's containers may run as; our umask must not narrow the mode.
      if (isNew) await chmod(folder, 0o777)
      if (volume.emptyDir.medium === 'Memory' && this.#options.mayMount)
        await mountMemory(folder, sizeOf(facts, volume.emptyDir.sizeLimit))
      if (!(await isGroups(folder, fsGroup))) await giveToGroup(folder, fsGroup)
      return
    }
    const claim = claimNameOf(facts.pod, volume)
    if (claim !== undefined) return this.#prepareClaim(facts, volume, claim, ended)
    const files = await this.#filesOf(facts, volume)
    if (!files) {
      const source = Object.keys(volume).find((key) => key !== 'name') ?? 'none'
      throw new VolumeError(`volume "${volume.name}": source ${source} is not supported here`)
    }
    ended.throwIfAborted()
    const now = this.#options.now()
    await writeAtomically(folder, files, { now, fsGroup })
  }

  async #mountCsi(
    { pod }: PodFacts,
    name: string,
    volume: CsiVolume,
    ended: AbortSignal,
  ): Promise<void> {
    const folder = await this.#options.csi.mount(pod, volume, ended)
    this.#claimed.set(`${pod.metadata.uid}/${name}`, folder)
  }

  /** Of claims, only those whose volume is a folder of this host, or of a CSI driver, can be mounted. */
  async #prepareClaim(
    facts: PodFacts,
    source: VolumeSpec,
    claimName: string,
    ended: AbortSignal,
  ): Promise<void> {
    const { pod } = facts
    const { name, persistentVolumeClaim } = source
    const { namespace, uid } = pod.metadata
    const key = `${uid}/${name}`
    const found = await this.#options.reader.claimedVolume(namespace, claimName).catch((error) => {
      // What is there already stays so while the API server is away.
      if (!this.#claimed.has(key)) throw error
    })
    if (found === undefined) return
    const { claim, volume } = found
    if (claim === undefined) throw new VolumeError(`persistentvolumeclaim "${claimName}" not found`)
    if (claim.metadata.deletionTimestamp !== undefined)
      throw new VolumeError('PVC is being deleted')
    const { status, spec } = claim
    if (status?.phase !== 'Bound' || !spec.volumeName)
      throw new VolumeError(
        `PVC ${namespace}/${claimName} has non-bound phase (${JSON.stringify(status?.phase ?? '')}) or empty pvc.Spec.VolumeName (${JSON.stringify(spec.volumeName ?? '')})`,
      )
    if (volume === undefined)
      throw new VolumeError(`persistentvolume "${spec.volumeName}" not found`)
    const csi = claimedCsiVolume(volume, claim, persistentVolumeClaim?.readOnly === true)
    const isBlock = volume.spec.volumeMode === 'Block'
    if (csi && !isBlock) return this.#mountCsi(facts, name, csi, ended)
    const folder = volume.spec.hostPath ?? volume.spec.local
    if (folder === undefined)
      throw new VolumeError(
        `volume "${name}": persistentvolume "${spec.volumeName}" is ${isBlock ? 'a block device, which is not supported here' : 'no folder of this host'}`,
      )
    prepareHostPath(folder)
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {}
    // A hostPath belongs to its host; a local volume gets its group once, when the Pod comes to it.
    const isGiven = persistentVolumeClaim?.readOnly === true || this.#claimed.has(key)
    if (volume.spec.local && !isGiven) {
      const suffices = fsGroupChangePolicy === 'OnRootMismatch'
      if (!suffices || !(await isGroups(folder.path, fsGroup)))
        await giveToGroup(folder.path, fsGroup)
    }
    this.#claimed.set(key, folder.path)
  }

  async #filesOf(facts: PodFacts, volume: VolumeSpec): Promise<Files | undefined> {
    const { configMap, secret, downwardAPI, projected } = volume
    const files: Files = new Map()
    if (configMap) {
      const { defaultMode: mode = defaultMode, ...source } = configMap
      await this.#project(files, facts, { configMap: source }, mode)
    } else if (secret) {
      const { defaultMode: mode = defaultMode, secretName, ...source } = secret
      await this.#project(files, facts, { secret: { ...source, name: secretName } }, mode)
    } else if (downwardAPI) {
      addDownward(files, facts, downwardAPI.items, downwardAPI.defaultMode ?? defaultMode)
    } else if (projected) {
      for (const source of projected.sources ?? []) {
        await this.#project(files, facts, source, projected.defaultMode ?? defaultMode)
      }
    } else return undefined
    return files
  }

  async #project(
    files: Files,
    facts: PodFacts,
    source: VolumeProjection,
    mode: number,
  ): Promise<void> {
    const { namespace } = facts.pod.metadata
    const { configMap, secret, downwardAPI, serviceAccountToken } = source
    if (configMap) {
      const { name = '', items, optional } = configMap
      const found = await this.#options.reader.configMap(namespace, name)
      const what = `configmap "${name}"`
      addKeys(files, found, { items, optional, mode, base64: false, what })
    }
    if (secret) {
      const { name = '', items, optional } = secret
      const found = await this.#options.reader.secret(namespace, name)
      addKeys(files, found, { items, optional, mode, base64: true, what: `secret "${name}"` })
    }
    if (downwardAPI) addDownward(files, facts, downwardAPI.items, mode)
    if (serviceAccountToken) {
      const { token } = await this.#options.reader.token(facts.pod, serviceAccountToken)
      const content = Buffer.from(token)
      const user = commonUserOf(facts.pod)
      const isGiven = (user ?? facts.pod.spec.securityContext?.fsGroup) !== undefined
      files.set(serviceAccountToken.path, { content, mode: isGiven ? 0o600 : mode, user })
    }
  }
}

/** Its files are the kubelet's, which brings them up to date. */
const showsObjects = ({ configMap, secret, downwardAPI, projected }: VolumeSpec): boolean =>
  (configMap ?? secret ?? downwardAPI ?? projected) !== undefined

/**
 * No container may write into it, whatever its mounts say (the attributes of upstream's mounters). A link that is put
 * where the kubelet writes next would lead it out of the volume.
 */
const isReadOnly = (volume: VolumeSpec): boolean =>
  showsObjects(volume) ||
  volume.persistentVolumeClaim?.readOnly === true ||
  volume.csi?.readOnly === true

/** Nobody waits for what no container mounts (GetPodVolumeNames). */
const mountedVolumes = (pod: Pod): VolumeSpec[] => {
  const names = new Set(
    allContainers(pod).flatMap(({ volumeMounts = [], volumeDevices = [] }) =>
      [...volumeMounts, ...volumeDevices].map(({ name }) => name),
    ),
  )
  return (pod.spec.volumes ?? []).filter(({ name }) => names.has(name))
}

const sizeOf = ({ pod, allocatable }: PodFacts, sizeLimit: string | number | undefined): number =>
  memoryVolumeBytes(pod, sizeLimit, amountOf(allocatable.memory ?? 0))
