/** What a Pod's claims mean before any node is looked at. Upstream: PreFilter of the plugins for volumes. */
import {
  bindCompleted,
  type Claim,
  claimNameOf,
  classOf,
  type StorageClass,
  type Volume,
  waitsForConsumer,
} from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'

interface Lookup<T> {
  get(key: string): T | undefined
}
export interface VolumeStores {
  claims: Lookup<Claim>
  volumes: Lookup<Volume>
  classes: Lookup<StorageClass>
}
export interface Waiting {
  claim: Claim
  storageClass: StorageClass
}
interface BoundClaim {
  /** Undefined when it is gone. */
  volume: Volume | undefined
  /** The claim was made for the Pod, which says nothing of zones. */
  isEphemeral: boolean
}
export interface ClaimFindings {
  /** Why the Pod can go nowhere yet, in upstream's words. */
  problem?: string
  /** Claims that are bound only when it is known which node the Pod goes to. */
  waiting: Waiting[]
  bound: BoundClaim[]
  /** Claims that only one Pod may use. */
  exclusive: string[]
}

interface Use {
  name: string
  isEphemeral: boolean
  claim: Claim | undefined
}

const usesOf = (pod: Pod, { claims }: VolumeStores): Use[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume)
    if (name === undefined) return []
    const claim = claims.get(`${pod.metadata.namespace}/${name}`)
    return { name, claim, isEphemeral: volume.persistentVolumeClaim === undefined }
  })

const problemOf = ({ name, isEphemeral, claim }: Use, { metadata }: Pod): string | undefined => {
  if (claim === undefined)
    return `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
  if (claim.status?.phase === 'Lost')
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`
  if (claim.metadata.deletionTimestamp !== undefined)
    return `persistentvolumeclaim "${name}" is being deleted`
  const isOwner = claim.metadata.ownerReferences?.some(
    ({ controller, uid }) => controller && uid === metadata.uid,
  )
  return !isEphemeral || isOwner
    ? undefined
    : `PVC ${metadata.namespace}/${name} was not created for pod ${metadata.namespace}/${metadata.name} (pod is not owner)`
}

/** Into `found`, unless it should be bound by now. */
const classify = (
  { claim, isEphemeral }: Use,
  { volumes, classes }: VolumeStores,
  found: ClaimFindings,
): string | undefined => {
  const { metadata, spec } = claim!
  if (spec.volumeName && metadata.annotations?.[bindCompleted] !== undefined) {
    found.bound.push({ volume: volumes.get(spec.volumeName), isEphemeral })
    return undefined
  }
  const storageClass = classes.get(classOf(claim!))
  if (storageClass === undefined || !waitsForConsumer(storageClass) || spec.volumeName)
    return 'pod has unbound immediate PersistentVolumeClaims'
  found.waiting.push({ claim: claim!, storageClass })
  return undefined
}

/** One plugin after the other looks at all volumes. */
function* problemsOf(
  pod: Pod,
  stores: VolumeStores,
  found: ClaimFindings,
): Generator<string | undefined> {
  const uses = usesOf(pod, stores)
  const plain = uses.filter(({ isEphemeral }) => !isEphemeral)
  for (const { name, claim } of plain)
    yield claim === undefined ? `persistentvolumeclaim "${name}" not found` : undefined
  for (const use of uses) yield problemOf(use, pod)
  for (const use of uses) yield classify(use, stores, found)
  for (const { claim } of plain) {
    const volume = claim!.spec.volumeName
    if (volume && stores.volumes.get(volume) === undefined)
      yield `persistentvolume "${volume}" not found`
  }
  for (const { name, claim } of plain)
    if (claim!.spec.accessModes?.includes('ReadWriteOncePod')) found.exclusive.push(name)
}

export const inspectClaims = (pod: Pod, stores: VolumeStores): ClaimFindings => {
  const found: ClaimFindings = { waiting: [], bound: [], exclusive: [] }
  for (const problem of problemsOf(pod, stores, found))
    if (problem !== undefined) return { ...found, problem }
  return found
}
