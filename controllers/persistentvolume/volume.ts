/** The volumes that the binder makes by itself: folders of the machine, which its node shares. Pure. */
import type { ObjectMeta } from '#api/object.js'
import { migratedPlugins } from '#client/migrated-plugins.js'
import {
  boundByController,
  type Claim,
  claimReference,
  hostPathProvisioner,
  type StorageClass,
  selectedNode,
  type Volume,
} from '#client/persistent-volume.js'

const provisionedBy = 'pv.kubernetes.io/provisioned-by'
const migratedTo = 'pv.kubernetes.io/migrated-to'

/** Who is to provision the claim's volume, by the provisioner of its class; undefined: no such provisioner is known. */
export const externalProvisioner = (provisioner: string): string | undefined =>
  provisioner.startsWith('kubernetes.io/')
    ? migratedPlugins.find(({ plugin }) => plugin === provisioner)?.driver
    : provisioner

/**
 * Annotations that say that a driver has taken over from the plugin that made the volume; undefined if they are right.
 */
export const migrationAnnotations = ({ metadata }: Volume): Record<string, string> | undefined => {
  const { annotations } = metadata
  const made = migratedPlugins.find(({ plugin }) => plugin === annotations?.[provisionedBy])
  return made === undefined || annotations?.[migratedTo] === made.driver
    ? undefined
    : { ...annotations, [migratedTo]: made.driver }
}

/** Whether it was made for its claim. */
export const isProvisioned = ({ metadata }: Volume): boolean =>
  metadata.annotations?.[provisionedBy] !== undefined

/**
 * Who deletes the volume when its claim is gone: the binder, the driver that made it (or its data would be lost sight
 * of), or nobody, and why. Upstream: findDeletablePlugin.
 */
export const deleterOf = ({
  metadata,
  spec,
}: Volume): 'binder' | 'driver' | { problem: string } => {
  const provisioner = metadata.annotations?.[provisionedBy]
  if (provisioner === hostPathProvisioner) return 'binder'
  if (provisioner && externalProvisioner(provisioner) !== undefined) return 'driver'
  if (spec.csi !== undefined) return 'driver'
  if (spec.hostPath === undefined) {
    // Upstream has one that only recycles.
    const missing = spec.nfs === undefined ? 'volume plugin' : 'deletable volume plugin'
    return {
      problem: `error getting deleter volume plugin for volume "${metadata.name}": no ${missing} matched`,
    }
  }
  // A mistake must not delete more than this.
  return /^\/tmp\/.+/.test(spec.hostPath.path)
    ? 'binder'
    : {
        problem: `host_path deleter only supports /tmp/.+ but received provided ${spec.hostPath.path}`,
      }
}

/** A folder of its own for each claim, named so that a repeated try finds its first one. `root`: where the class has them. */
const folderOf = (root: string, namespace: string, name: string): string =>
  `${root}/${namespace}/${name}`

export const rootOf = ({ parameters }: StorageClass): string =>
  parameters?.path ?? '/tmp/kubelevel-volumes'

/** Whoever waits for a node stays there: other nodes do not have the folder. A node's label is its name unless a cloud names it. */
const onNode = (node: string | undefined): Pick<Volume['spec'], 'nodeAffinity'> =>
  node === undefined
    ? {}
    : {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: 'kubernetes.io/hostname', operator: 'In', values: [node] },
                ],
              },
            ],
          },
        },
      }

export const hostPathVolume = (
  claim: Claim,
  storageClass: StorageClass,
): { metadata: ObjectMeta; spec: Volume['spec'] } => {
  const { namespace, uid, annotations } = claim.metadata
  const name = `pvc-${uid}`
  return {
    metadata: {
      name,
      annotations: {
        [provisionedBy]: storageClass.provisioner,
        [boundByController]: 'yes',
      },
    },
    spec: {
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      capacity: { storage: claim.spec.resources?.requests?.storage ?? '0' },
      claimRef: claimReference(claim),
      hostPath: {
        path: folderOf(rootOf(storageClass), namespace, name),
        type: 'DirectoryOrCreate',
      },
      ...onNode(annotations?.[selectedNode]),
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      volumeMode: claim.spec.volumeMode ?? 'Filesystem',
    },
  }
}

/**
 * The folder that goes with the volume: one that was made for it. undefined: none, whatever path somebody has written
 * into it since.
 */
export const ownFolder = ({ metadata, spec }: Volume): string | undefined => {
  const { claimRef, hostPath } = spec
  if (metadata.annotations?.[provisionedBy] !== hostPathProvisioner) return undefined
  if (metadata.name !== `pvc-${claimRef?.uid}` || hostPath === undefined) return undefined
  return hostPath.path.endsWith(folderOf('', claimRef!.namespace!, metadata.name))
    ? hostPath.path
    : undefined
}
