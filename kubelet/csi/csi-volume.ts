/** A volume of a CSI driver, as a Pod has it. Pure. */
import { sha256 } from '#client/csi-volume.js'
import type { Claim, Volume } from '#client/persistent-volume.js'
import type { Pod, VolumeSpec } from '../pod.js'
import { type Growth, growthOf } from './csi-growth.js'

interface SecretAt {
  readonly namespace: string
  readonly name: string
}
export interface CsiVolume {
  /** Upstream's name of the volume's spec: that of the PersistentVolume, or of an inline volume in its Pod. */
  readonly specName: string
  readonly driver: string
  readonly volumeHandle: string
  /** Made for the Pod and with it: neither attached nor staged. */
  readonly isEphemeral: boolean
  readonly fsType: string
  readonly attributes: Readonly<Record<string, string>>
  readonly isReadOnly: boolean
  /** The first is asked of the driver. */
  readonly accessModes: readonly string[]
  readonly mountOptions: readonly string[]
  readonly stageSecret: SecretAt | undefined
  readonly publishSecret: SecretAt | undefined
  readonly expandSecret: SecretAt | undefined
  /** It has become larger than its file system. */
  readonly growth: Growth | undefined
}
type InlineSource = NonNullable<VolumeSpec['csi']>

const secretAt = (reference: Partial<SecretAt> | undefined): SecretAt | undefined =>
  reference && { namespace: reference.namespace ?? '', name: reference.name ?? '' }

/** Undefined for volumes of other sources. */
export const claimedCsiVolume = (
  volume: Volume,
  claim: Claim,
  isReadOnly: boolean,
): CsiVolume | undefined => {
  const { metadata, spec } = volume
  return (
    spec.csi && {
      specName: metadata.name,
      driver: spec.csi.driver,
      volumeHandle: spec.csi.volumeHandle ?? '',
      isEphemeral: false,
      fsType: spec.csi.fsType ?? '',
      attributes: spec.csi.volumeAttributes ?? {},
      isReadOnly,
      accessModes: spec.accessModes ?? [],
      mountOptions: spec.mountOptions ?? [],
      stageSecret: secretAt(spec.csi.nodeStageSecretRef),
      publishSecret: secretAt(spec.csi.nodePublishSecretRef),
      expandSecret: secretAt(spec.csi.nodeExpandSecretRef),
      growth: growthOf(claim, volume),
    }
  )
}

export const inlineCsiVolume = (
  { metadata }: Pod,
  name: string,
  { driver, fsType = '', readOnly = false, volumeAttributes = {}, ...source }: InlineSource,
): CsiVolume => ({
  specName: name,
  driver,
  volumeHandle: `csi-${sha256(`${metadata.uid}${name}`)}`,
  isEphemeral: true,
  fsType,
  attributes: volumeAttributes,
  isReadOnly: readOnly,
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  stageSecret: undefined,
  publishSecret: source.nodePublishSecretRef && {
    namespace: metadata.namespace,
    name: source.nodePublishSecretRef.name ?? '',
  },
  expandSecret: undefined,
  growth: undefined,
})

export const podInfoOf = (
  { metadata, spec }: Pod,
  { isEphemeral }: CsiVolume,
): Record<string, string> => ({
  'csi.storage.k8s.io/pod.name': metadata.name,
  'csi.storage.k8s.io/pod.namespace': metadata.namespace,
  'csi.storage.k8s.io/pod.uid': metadata.uid,
  'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
  'csi.storage.k8s.io/ephemeral': String(isEphemeral),
})

/** Whether the kubelet gives the files to the Pod's group; by default where one node alone writes to a file system. */
export const takesGroup = (volume: CsiVolume, policy: string): boolean => {
  if (policy === 'None' || volume.isReadOnly) return false
  if (policy === 'File') return true
  return (
    volume.fsType !== '' &&
    volume.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod')
  )
}
