/** Claims and volumes, and which volume fits a claim. Pure. */
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { parseMilli } from './amount.js'
import type { NodeSelectorTerm } from './pod.js'

export interface Claim extends NamespacedObject {
  spec: {
    accessModes?: string[]
    volumeMode?: string
    storageClassName?: string
    volumeAttributesClassName?: string
    volumeName?: string
    selector?: LabelSelector
    resources?: { requests?: { storage?: string } }
  }
  status: { phase?: string; [field: string]: unknown }
}
interface SecretReference {
  readonly namespace?: string
  readonly name?: string
}
interface CsiSource {
  readonly driver: string
  readonly volumeHandle?: string
  readonly fsType?: string
  readonly volumeAttributes?: Readonly<Record<string, string>>
  readonly nodeStageSecretRef?: SecretReference
  readonly nodePublishSecretRef?: SecretReference
}
export interface Volume extends PersistedObject {
  spec: {
    accessModes?: string[]
    volumeMode?: string
    storageClassName?: string
    volumeAttributesClassName?: string
    capacity?: { storage?: string }
    claimRef?: {
      kind?: string
      apiVersion?: string
      namespace?: string
      name?: string
      uid?: string
      resourceVersion?: string
    }
    persistentVolumeReclaimPolicy?: string
    hostPath?: { path: string; type?: string }
    local?: { path: string }
    csi?: CsiSource
    mountOptions?: string[]
    nodeAffinity?: { required?: { nodeSelectorTerms: NodeSelectorTerm[] } }
    [field: string]: unknown
  }
  status: { phase?: string; message?: string; reason?: string }
}
export interface StorageClass extends PersistedObject {
  provisioner: string
  parameters?: Record<string, string>
  reclaimPolicy?: string
  volumeBindingMode?: string
  allowedTopologies?: { matchLabelExpressions?: { key: string; values: string[] }[] }[]
}

export const waitsForConsumer = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.volumeBindingMode === 'WaitForFirstConsumer'

export const boundByController = 'pv.kubernetes.io/bound-by-controller'
export const bindCompleted = 'pv.kubernetes.io/bind-completed'
export const selectedNode = 'volume.kubernetes.io/selected-node'

interface ClaimingPod {
  metadata: { name?: string }
  spec: { volumes?: { name: string; persistentVolumeClaim?: { claimName: string } }[] }
}
type PodVolume = NonNullable<ClaimingPod['spec']['volumes']>[number] & { ephemeral?: unknown }

/** The claim that a volume of the Pod is, be it one made for the Pod; undefined for other volumes. */
export const claimNameOf = (pod: ClaimingPod, volume: PodVolume): string | undefined =>
  volume.persistentVolumeClaim?.claimName ??
  (volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined)

/** Names of the claims that the Pod's volumes are. */
export const claimNames = (pod: ClaimingPod): string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? [])

const sizeOf = ({ spec }: Claim | Volume): bigint => {
  const { capacity, resources } = spec as Partial<Volume['spec'] & Claim['spec']>
  return parseMilli((capacity ?? resources?.requests)?.storage ?? '0')
}
/** By what volumes have and claims ask for: the smaller first. */
export const compareSizes = (a: Claim | Volume, b: Claim | Volume): number => {
  const difference = sizeOf(a) - sizeOf(b)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
export const classOf = (o: Claim | Volume): string =>
  o.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
  o.spec.storageClassName ??
  ''

const isFor = (volume: Volume, claim: Claim): boolean =>
  volume.spec.claimRef?.name === claim.metadata.name &&
  volume.spec.claimRef?.namespace === claim.metadata.namespace &&
  (!volume.spec.claimRef?.uid || volume.spec.claimRef.uid === claim.metadata.uid)

const isFree = ({ spec, status }: Volume): boolean =>
  spec.claimRef === undefined && status?.phase === 'Available'

const fits = (volume: Volume, claim: Claim): boolean =>
  classOf(volume) === classOf(claim) &&
  (volume.spec.volumeAttributesClassName ?? '') === (claim.spec.volumeAttributesClassName ?? '') &&
  (claim.spec.accessModes ?? []).every((mode) => (volume.spec.accessModes ?? []).includes(mode)) &&
  (claim.spec.selector === undefined ||
    matchesSelector(claim.spec.selector, volume.metadata.labels))

/** The volume that names the claim, or that the claim names. */
export const promisedVolume = (claim: Claim, volumes: readonly Volume[]): Volume | undefined => {
  if (!claim.spec.volumeName) return volumes.find((v) => isFor(v, claim))
  const named = volumes.find((v) => v.metadata.name === claim.spec.volumeName)
  const free = named?.spec.claimRef === undefined
  return named !== undefined && (free || isFor(named, claim)) ? named : undefined
}

/** Volumes of the right size and mode, be they promised or free. */
const isUsable = (volume: Volume, claim: Claim): boolean =>
  volume.metadata.deletionTimestamp === undefined &&
  (volume.spec.volumeMode ?? 'Filesystem') === (claim.spec.volumeMode ?? 'Filesystem') &&
  compareSizes(volume, claim) >= 0

/**
 * The volume that is already promised to the claim, else the smallest free one that fits. A promised one that does not
 * suit rules all others out. Upstream: FindMatchingVolume.
 */
export const findVolume = (
  claim: Claim,
  volumes: readonly Volume[],
  suits: (volume: Volume) => boolean = () => true,
): Volume | undefined => {
  const usable = volumes.filter((v) => isUsable(v, claim))
  const promised = promisedVolume(claim, usable)
  if (promised !== undefined) return suits(promised) ? promised : undefined
  if (claim.spec.volumeName) return undefined
  return usable.filter((v) => isFree(v) && fits(v, claim) && suits(v)).sort(compareSizes)[0]
}

export const claimReference = (claim: Claim) => ({
  kind: 'PersistentVolumeClaim',
  apiVersion: 'v1',
  namespace: claim.metadata.namespace,
  name: claim.metadata.name,
  uid: claim.metadata.uid,
  resourceVersion: claim.metadata.resourceVersion,
})
