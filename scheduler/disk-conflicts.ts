/** Disks of old kinds that one node must not have mounted twice. Upstream: VolumeRestrictions. */
import type { Pod } from '#client/pod.js'

interface Disk {
  readOnly?: boolean
}
interface DiskVolume {
  gcePersistentDisk?: Disk & { pdName: string }
  awsElasticBlockStore?: { volumeID: string }
  iscsi?: Disk & { iqn: string }
  rbd?: Disk & { monitors: string[]; pool?: string; image: string }
}

const areBothReadOnly = (a: Disk, b: Disk): boolean => Boolean(a.readOnly && b.readOnly)

const conflict = (a: DiskVolume, b: DiskVolume): boolean => {
  const [gce, otherGce] = [a.gcePersistentDisk, b.gcePersistentDisk]
  if (gce && otherGce && gce.pdName === otherGce.pdName && !areBothReadOnly(gce, otherGce))
    return true
  const [aws, otherAws] = [a.awsElasticBlockStore, b.awsElasticBlockStore]
  if (aws && otherAws && aws.volumeID === otherAws.volumeID) return true
  if (a.iscsi && b.iscsi && a.iscsi.iqn === b.iscsi.iqn && !areBothReadOnly(a.iscsi, b.iscsi))
    return true
  const [rbd, other] = [a.rbd, b.rbd]
  return Boolean(
    rbd &&
      other &&
      rbd.pool === other.pool &&
      rbd.image === other.image &&
      rbd.monitors.some((monitor) => other.monitors.includes(monitor)) &&
      !areBothReadOnly(rbd, other),
  )
}

const disksOf = (pod: Pod): DiskVolume[] =>
  ((pod.spec.volumes ?? []) as DiskVolume[]).filter(
    (v) => v.gcePersistentDisk ?? v.awsElasticBlockStore ?? v.iscsi ?? v.rbd,
  )

/** Says of another Pod whether both cannot be on one node; undefined when the Pod has no such disks. */
export const diskConflicts = (pod: Pod): ((other: Pod) => boolean) | undefined => {
  const disks = disksOf(pod)
  if (disks.length === 0) return undefined
  return (other) => disksOf(other).some((b) => disks.some((a) => conflict(a, b)))
}
