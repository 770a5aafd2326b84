/** How many volumes of a CSI driver a node can have attached. Upstream: the plugin NodeVolumeLimits. */
import type { KubeObject } from '#api/object.js'
import { type Claim, claimNames } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'
import type { VolumeStores } from './volumes.js'

export interface CsiNode extends KubeObject {
  spec: { drivers?: { name: string; allocatable?: { count?: number } }[] | null }
}

/** Driver → what of it the Pod uses. One volume of several Pods is attached once. */
type CsiVolumes = Map<string, Set<string>>

const driverAndVolume = (
  claim: Claim,
  { volumes, classes }: VolumeStores,
): [driver: string, volume: string] | undefined => {
  const { namespace, name } = claim.metadata
  if (claim.spec.volumeName) {
    const csi = volumes.get(claim.spec.volumeName)?.spec.csi
    return csi && [csi.driver, csi.volumeHandle ?? '']
  }
  const storageClass = classes.get(claim.spec.storageClassName ?? '')
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

/** Says of a node whether the Pod's volumes are too many for it; undefined when it has none that count. */
export const volumeLimits = (
  pod: Pod,
  stores: VolumeStores,
  csiNode: (name: string) => CsiNode | undefined,
): ((info: NodeInfo) => boolean) | undefined => {
  const wanted: CsiVolumes = new Map()
  addVolumes(wanted, pod, stores)
  if (wanted.size === 0) return undefined
  return (info) => {
    const drivers = csiNode(info.node!.metadata.name!)?.spec.drivers ?? []
    const limited = drivers.filter(
      ({ name, allocatable }) => allocatable?.count !== undefined && wanted.has(name),
    )
    if (limited.length === 0) return false
    const attached: CsiVolumes = new Map()
    for (const other of info.pods.values()) addVolumes(attached, other, stores)
    return limited.some(({ name, allocatable }) => {
      const before = attached.get(name) ?? new Set()
      const more = [...wanted.get(name)!].filter((volume) => !before.has(volume))
      return more.length > 0 && before.size + more.length > allocatable!.count!
    })
  }
}
