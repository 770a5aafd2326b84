/** How many volumes of a CSI driver a node can have attached. Upstream: the plugin NodeVolumeLimits. */

import type { CsiNode, VolumeAttachment } from '#client/csi-objects.js'
import { type Claim, claimNames, classOf, type Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'
import type { VolumeStores } from './volume-claims.js'

/** Driver → the Pod's volumes of it. A volume that several Pods use is attached once. */
type CsiVolumes = Map<string, Set<string>>

const driverAndVolume = (
  claim: Claim,
  { volumes, classes }: VolumeStores,
): [driver: string, volume: string] | undefined => {
  const { namespace, name } = claim.metadata
  const volume = volumes.get(claim.spec.volumeName ?? '')
  if (volume !== undefined) {
    const { csi } = volume.spec
    return csi && [csi.driver, csi.volumeHandle ?? '']
  }
  const storageClass = classes.get(classOf(claim))
  // One that is still to be made counts, too.
  return storageClass && [storageClass.provisioner, `${namespace}/${name}`]
}

const addVolumes = (found: CsiVolumes, pod: Pod, stores: VolumeStores): void => {
  for (const name of claimNames(pod)) {
    const claim = stores.claims.get(`${pod.metadata.namespace}/${name}`)
    const use = claim && driverAndVolume(claim, stores)
    if (use === undefined) continue
    const [driver, volume] = use
    found.set(driver, (found.get(driver) ?? new Set()).add(volume))
  }
}

/** Those that are attached to the node though no Pod there has them. */
const countForgotten = (
  driver: string,
  known: ReadonlySet<string>,
  attached: readonly VolumeAttachment[],
  volumes: VolumeStores['volumes'],
): number => {
  const handles = attached.flatMap(({ spec }): string[] => {
    const csi: Volume['spec']['csi'] = volumes.get(spec.source.persistentVolumeName ?? '')?.spec.csi
    return spec.attacher === driver && csi !== undefined ? [csi.volumeHandle ?? ''] : []
  })
  return new Set(handles.filter((handle) => !known.has(handle))).size
}

interface NodeVolumes {
  csiNode(name: string): CsiNode | undefined
  attachmentsTo(node: string): readonly VolumeAttachment[]
}

/** Says of a node whether the Pod's volumes are too many for it; undefined when it has none that count. */
export const volumeLimits = (
  pod: Pod,
  stores: VolumeStores,
  { csiNode, attachmentsTo }: NodeVolumes,
): ((info: NodeInfo) => boolean) | undefined => {
  const wanted: CsiVolumes = new Map()
  addVolumes(wanted, pod, stores)
  if (wanted.size === 0) return undefined
  return (info) => {
    const { name } = info.node!.metadata
    const drivers = csiNode(name)?.spec.drivers ?? []
    const limited = drivers.filter(
      ({ name, allocatable }) => allocatable?.count !== undefined && wanted.has(name),
    )
    if (limited.length === 0) return false
    const used: CsiVolumes = new Map()
    for (const other of info.pods.values()) addVolumes(used, other, stores)
    const attached = attachmentsTo(name)
    return limited.some(({ name: driver, allocatable }) => {
      const before = used.get(driver) ?? new Set()
      const more = [...wanted.get(driver)!].filter((volume) => !before.has(volume)).length
      const forgotten = countForgotten(driver, before, attached, stores.volumes)
      return more > 0 && before.size + forgotten + more > allocatable!.count!
    })
  }
}
