/** Claims and volumes, and which volume fits a claim. Pure. */

import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { namedStorageClass } from '#api/storage-class.js'
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
  readonly nodeExpandSecretRef?: SecretReference
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
/** Of classes whose volumes are folders of the machine that the controllers run on. */
export const hostPathProvisioner = 'kubelevel.io/host-path'

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
export const classOf = (o: Claim | Volume): string => namedStorageClass(o) ?? ''

/** The volume names the claim, be it bound to it or only meant for it. */
export const isFor = (volume: Volume, claim: Claim): boolean =>
  volume.spec.claimRef?.name === claim.metadata.name &&
  volume.spec.claimRef?.namespace === claim.metadata.namespace &&
  (!volume.spec.claimRef?.uid || volume.spec.claimRef.uid === claim.metadata.uid)

const attributesClassOf = ({ spec }: Claim | Volume): string => spec.volumeAttributesClassName ?? ''

export const isModeOf = (volume: Volume, claim: Claim): boolean =>
  (volume.spec.volumeMode ?? 'Filesystem') === (claim.spec.volumeMode ?? 'Filesystem')

const hasModes = (volume: Volume, claim: Claim): boolean =>
  (claim.spec.accessModes ?? []).every((mode) => (volume.spec.accessModes ?? []).includes(mode))

/** What keeps the claim from the volume that it names, in upstream's words (checkVolumeSatisfyClaim). */
export const mismatchOf = (volume: Volume, claim: Claim): string | undefined => {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`
  if (compareSizes(volume, claim) < 0) return 'requested PV is too small'
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match'
  if (attributesClassOf(volume) !== attributesClassOf(claim))
    return 'volumeAttributesClassName does not match'
  if (!isModeOf(volume, claim)) return 'incompatible volumeMode'
  return hasModes(volume, claim) ? undefined : 'incompatible accessMode'
}

/** All that even a volume has to be that is meant for the claim. Most are others', which is told most quickly. */
const isUsable = (volume: Volume, claim: Claim): boolean =>
  (volume.spec.claimRef === undefined || isFor(volume, claim)) &&
  volume.metadata.deletionTimestamp === undefined &&
  isModeOf(volume, claim) &&
  attributesClassOf(volume) === attributesClassOf(claim) &&
  compareSizes(volume, claim) >= 0

const isChoice = (volume: Volume, claim: Claim): boolean =>
  volume.status?.phase === 'Available' &&
  hasModes(volume, claim) &&
  classOf(volume) === classOf(claim) &&
  (claim.spec.selector === undefined ||
    matchesSelector(claim.spec.selector, volume.metadata.labels))

/**
 * The volume that is already promised to the claim, else the smallest free one that fits. A promised one that does not
 * suit rules all others out. Upstream: FindMatchingVolume.
 */
export const findVolume = (
  claim: Claim,
  volumes: readonly Volume[],
  suits: (volume: Volume) => boolean,
): Volume | undefined => {
  const usable = volumes.filter((v) => isUsable(v, claim))
  const promised = usable.find((v) => isFor(v, claim))
  if (promised !== undefined) return suits(promised) ? promised : undefined
  return usable.filter((v) => isChoice(v, claim) && suits(v)).sort(compareSizes)[0]
}

/**
 * What the binder binds: the fewest modes that do are better than the smallest size (findByClaim). Which volume suits a
 * claim that waits for its Pod, only the scheduler can say, unless one is promised.
 */
export const chooseVolume = (
  claim: Claim,
  volumes: readonly Volume[],
  waits: boolean,
): Volume | undefined => {
  const able = volumes.filter((v) => hasModes(v, claim))
  const countOf = ({ spec }: Volume): number => (spec.accessModes ?? []).length
  const counts = [...new Set(able.map(countOf))].sort((a, b) => a - b)
  for (const count of counts) {
    const alike = able.filter((v) => countOf(v) === count)
    const found = findVolume(claim, alike, (v) => !waits || isFor(v, claim))
    if (found !== undefined) return found
  }
  return undefined
}

export const claimReference = (claim: Claim) => ({
  kind: 'PersistentVolumeClaim',
  apiVersion: 'v1',
  namespace: claim.metadata.namespace,
  name: claim.metadata.name,
  uid: claim.metadata.uid,
  resourceVersion: claim.metadata.resourceVersion,
})

/** The volume given to the claim; by us, unless its user has kept it for the claim. */
export const boundTo = (volume: Volume, claim: Claim): Volume => {
  const { metadata, spec } = volume
  const annotations = { ...metadata.annotations, [boundByController]: 'yes' }
  return {
    ...volume,
    metadata: isFor(volume, claim) ? metadata : { ...metadata, annotations },
    spec: { ...spec, claimRef: claimReference(claim) },
  }
}
