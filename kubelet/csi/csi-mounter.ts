/**
 * What drivers are called with, and what has to be known for that. Upstream: csi_attacher.go (MountDevice) and
 * csi_mounter.go (SetUpAt, TearDownAt) of pkg/volume/csi.
 */

import { mkdir } from 'node:fs/promises'
import { formatTime } from '#api/clock.js'
import { parseQuantity, quantityValue } from '#api/quantity.js'
import type { CsiDriver } from '#client/csi-objects.js'
import { attachmentName } from '#client/csi-volume.js'
import { messageOf } from '#client/errors.js'
import { goQuoteList } from '#go/quote.js'
import { isFinal, textOf } from '../grpc/error-text.js'
import type { ObjectReader } from '../object-reader.js'
import type { Pod } from '../pod.js'
import { giveToGroup, isGroups } from '../volume-ownership.js'
import type { CsiClient } from './csi-client.js'
import type { CsiDrivers } from './csi-drivers.js'
import type { CsiFolders, VolumeData } from './csi-folders.js'
import { accessModeOf, capabilities } from './csi-types.js'
import { type CsiVolume, podInfoOf, takesGroup } from './csi-volume.js'
import { mountError } from './mount-error.js'

interface MounterOptions {
  readonly nodeName: string
  readonly reader: ObjectReader
  readonly drivers: CsiDrivers
  readonly folders: CsiFolders
}
interface PodMount {
  readonly pod: Pod
  readonly volume: CsiVolume
  /** Undefined where the API knows no such driver. */
  readonly driver: CsiDriver | undefined
  /** What attaching it has told; empty for a volume that is not attached. */
  readonly publishContext: Readonly<Record<string, string>>
}
type Texts = Readonly<Record<string, string>>

const csi = 'kubernetes.io/csi:'

export class CsiMounter {
  readonly #options: MounterOptions

  constructor(options: MounterOptions) {
    this.#options = options
  }

  /** What attaching the volume has told. Throws MountError. */
  async attachmentOf(volume: CsiVolume): Promise<Texts> {
    const { reader, nodeName } = this.#options
    const { volumeHandle: handle } = volume
    const name = attachmentName(volume, nodeName)
    const fail = (reason: string) => mountError('WaitForAttach', volume, reason)
    const found = await reader.volumeAttachment(name).catch((error) => {
      throw fail(
        `volume ${handle} has GET error for volume attachment ${name}: ${messageOf(error)}`,
      )
    })
    if (!found)
      throw fail(
        `volume ${handle} has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
      )
    if (found.metadata.deletionTimestamp !== undefined)
      throw fail('volume attachment is being deleted')
    const { attached, attachError, attachmentMetadata = {} } = found.status ?? {}
    if (attached) return attachmentMetadata
    throw fail(
      attachError?.message ?? `volume ${handle} is not attached for volume attachment ${name}`,
    )
  }

  /** Stages the volume for all Pods of the node; does nothing where its driver has no such step. */
  async stage({ pod, volume, publishContext }: PodMount): Promise<void> {
    const { drivers, folders } = this.#options
    const { driver: driverName, volumeHandle, stageSecret } = volume
    try {
      const client = find(
        drivers,
        volume,
        'attacher.MountDevice failed to create newCsiDriverClient',
      )
      const able = await client.capabilities()
      if (!able.has(capabilities.stageUnstage)) return
      const secrets = stageSecret ? await this.#secrets('NodeStageSecretRef', stageSecret) : {}
      const staging = folders.staging(driverName, volumeHandle)
      await folders.note(staging, { driverName, volumeHandle })
      await mkdir(staging, { recursive: true, mode: 0o750 })
      const request = {
        volume_id: volumeHandle,
        publish_context: publishContext,
        staging_target_path: staging,
        volume_capability: capabilityOf(pod, volume, able),
        secrets,
        volume_context: volume.attributes,
      }
      await client.stage(request).catch(async (error) => {
        if (isFinal(error)) await folders.forget(staging).catch(() => {})
        throw error
      })
    } catch (error) {
      throw mountError('MountDevice', volume, textOf(error))
    }
  }

  /** Makes the volume appear in its folder of the Pod, or brings it up to date there. */
  async publish(mount: PodMount, { again }: { again: boolean }): Promise<void> {
    const { volume } = mount
    try {
      const { drivers } = this.#options
      const client = find(drivers, volume, 'mounter.SetUpAt failed to get CSI client')
      checkLifecycle(mount)
      await this.#publish(mount, client, again)
    } catch (error) {
      throw mountError('SetUp', volume, textOf(error))
    }
  }

  async #publish(mount: PodMount, client: CsiClient, again: boolean): Promise<void> {
    const { pod, volume, driver, publishContext } = mount
    const { folders } = this.#options
    const { volumeHandle, publishSecret, isReadOnly } = volume
    const able = await client.capabilities()
    const isStaged = !volume.isEphemeral && able.has(capabilities.stageUnstage)
    const secrets = publishSecret ? await this.#secrets('NodePublishSecretRef', publishSecret) : {}
    const tokens = await this.#tokens(mount)
    const inSecrets = driver?.spec.serviceAccountTokenInSecrets === true
    const target = folders.target(pod.metadata.uid, volume.specName)
    await folders.note(target, this.#dataOf(volume))
    const request = {
      volume_id: volumeHandle,
      publish_context: publishContext,
      staging_target_path: isStaged ? folders.staging(volume.driver, volumeHandle) : '',
      target_path: target,
      volume_capability: capabilityOf(pod, volume, able),
      readonly: isReadOnly,
      secrets: inSecrets ? { ...secrets, ...tokens } : secrets,
      volume_context: {
        ...volume.attributes,
        ...(driver?.spec.podInfoOnMount ? podInfoOf(pod, volume) : {}),
        ...(inSecrets ? {} : tokens),
      },
    }
    await client.publish(request).catch(async (error) => {
      // What containers see already must stay as it is.
      if (isFinal(error) && !again) await folders.forget(target).catch(() => {})
      throw error
    })
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {}
    const policy = driver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType'
    if (able.has(capabilities.mountGroup) || !takesGroup(volume, policy)) return
    if (fsGroupChangePolicy === 'OnRootMismatch' && (await isGroups(target, fsGroup))) return
    await giveToGroup(target, fsGroup)
  }

  /** Whether the driver makes file systems larger. */
  async canExpand({ driver }: CsiVolume): Promise<boolean> {
    const able = await this.#options.drivers.client(driver).capabilities()
    return able.has(capabilities.expandVolume)
  }

  /** Makes the file system of a published volume this large. Throws what the driver has said. */
  async expand(pod: Pod, volume: CsiVolume, size: string): Promise<void> {
    const { drivers, folders } = this.#options
    const { driver, volumeHandle, expandSecret } = volume
    const client = drivers.client(driver)
    const able = await client.capabilities()
    const isStaged = able.has(capabilities.stageUnstage)
    await client.expand({
      volume_id: volumeHandle,
      volume_path: folders.target(pod.metadata.uid, volume.specName),
      capacity_range: { required_bytes: String(quantityValue(parseQuantity(size))) },
      staging_target_path: isStaged ? folders.staging(driver, volumeHandle) : '',
      volume_capability: capabilityOf(pod, volume, able),
      secrets: expandSecret ? await this.#secrets('NodeExpandSecretRef', expandSecret) : {},
    })
  }

  /** Throws upstream's text. */
  async unpublish(target: string, { driverName, volumeHandle }: VolumeData): Promise<void> {
    const { drivers, folders } = this.#options
    const client = find(
      drivers,
      { driver: driverName },
      'Unmounter.TearDownAt failed to get CSI client',
    )
    await client.unpublish(volumeHandle, target).catch((error) => {
      throw new Error(`${csi} Unmounter.TearDownAt failed: ${textOf(error)}`)
    })
    await folders.forget(target).catch((error) => {
      throw new Error(
        `${csi} Unmounter.TearDownAt failed to clean mount dir [${target}]: ${error.message}`,
      )
    })
  }

  async unstage(driver: string, volumeHandle: string): Promise<void> {
    const { drivers, folders } = this.#options
    const staging = folders.staging(driver, volumeHandle)
    const client = find(
      drivers,
      { driver },
      'attacher.UnmountDevice failed to create newCsiDriverClient',
    )
    if ((await client.capabilities()).has(capabilities.stageUnstage))
      await client.unstage(volumeHandle, staging)
    await folders.forget(staging)
  }

  #dataOf(volume: CsiVolume): VolumeData {
    const { nodeName } = this.#options
    return {
      specVolID: volume.specName,
      volumeHandle: volume.volumeHandle,
      driverName: volume.driver,
      nodeName,
      volumeLifecycleMode: lifecycleOf(volume),
      attachmentID: attachmentName(volume, nodeName),
    }
  }

  async #secrets(field: string, at: { namespace: string; name: string }): Promise<Texts> {
    const { namespace, name } = at
    const fail = (reason: string) =>
      new Error(
        `fetching ${field} ${namespace}/${name} failed: ${csi} failed to find the secret ${name} in the namespace ${namespace} with error: ${reason}`,
      )
    const secret = await this.#options.reader.secret(namespace, name).catch((error) => {
      throw fail(messageOf(error))
    })
    if (!secret) throw fail(`secrets "${name}" not found`)
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    )
  }

  /** Tokens of the Pod's service account, for the audiences that the driver wants. */
  async #tokens({ pod, driver }: PodMount): Promise<Texts> {
    const wanted = driver?.spec.tokenRequests ?? []
    if (wanted.length === 0) return {}
    const made: [audience: string, token: object][] = []
    for (const one of wanted) {
      const { token, expiresAt } = await this.#options.reader.token(pod, one)
      made.push([one.audience, { token, expirationTimestamp: formatTime(expiresAt) }])
    }
    const sorted = made.sort(([a], [b]) => (a < b ? -1 : 1))
    return {
      'csi.storage.k8s.io/serviceAccount.tokens': JSON.stringify(Object.fromEntries(sorted)),
    }
  }
}

const find = (drivers: CsiDrivers, { driver }: { driver: string }, what: string): CsiClient => {
  try {
    return drivers.client(driver)
  } catch (error) {
    throw new Error(`${csi} ${what}: ${messageOf(error)}`)
  }
}

const lifecycleOf = ({ isEphemeral }: CsiVolume): 'Ephemeral' | 'Persistent' =>
  isEphemeral ? 'Ephemeral' : 'Persistent'

/** A driver that the API does not know has persistent volumes only. */
const checkLifecycle = ({ volume, driver }: PodMount): void => {
  const mode = lifecycleOf(volume)
  const modes = driver ? (driver.spec.volumeLifecycleModes ?? []) : ['Persistent']
  if (modes.includes(mode)) return
  const known = driver ? `only supports ${goQuoteList(modes)}` : 'no CSIDriver object'
  throw new Error(
    `${csi} mounter.SetupAt failed to check volume lifecycle mode: volume mode "${mode}" not supported by driver ${volume.driver} (${known})`,
  )
}

const capabilityOf = ({ spec }: Pod, volume: CsiVolume, able: ReadonlySet<number>): object => {
  const group = able.has(capabilities.mountGroup) ? spec.securityContext?.fsGroup : undefined
  const [mode = 'ReadWriteOnce'] = volume.accessModes
  return {
    mount: {
      fs_type: volume.fsType,
      mount_flags: volume.mountOptions,
      volume_mount_group: group === undefined ? '' : String(group),
    },
    access_mode: { mode: accessModeOf(mode, able.has(capabilities.singleNodeMultiWriter)) },
  }
}
