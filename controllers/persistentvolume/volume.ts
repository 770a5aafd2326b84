/** The volumes that the binder makes by itself: directories on the node. Pure. */
import type { ObjectMeta } from '#api/object.js'
import {
  boundByController,
  type Claim,
  claimReference,
  type StorageClass,
  type Volume,
} from '#client/persistent-volume.js'

/** The class that they are made for. */
export const hostPathProvisioner = 'kubelevel.io/host-path'

/** A directory of its own for each claim, named so that a repeated try finds its first one. */
export const hostPathVolume = (
  claim: Claim,
  storageClass: StorageClass,
): { metadata: ObjectMeta; spec: Volume['spec'] } => {
  const name = `pvc-${claim.metadata.uid}`
  const root = storageClass.parameters?.path ?? '/tmp/kubelevel-volumes'
  return {
    metadata: {
      name,
      annotations: {
        'pv.kubernetes.io/provisioned-by': storageClass.provisioner,
        [boundByController]: 'yes',
      },
    },
    spec: {
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      capacity: { storage: claim.spec.resources?.requests?.storage ?? '0' },
      claimRef: claimReference(claim),
      hostPath: { path: `${root}/${claim.metadata.namespace}/${name}`, type: 'DirectoryOrCreate' },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name!,
      volumeMode: claim.spec.volumeMode ?? 'Filesystem',
    },
  }
}
