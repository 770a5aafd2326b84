/**
 * Who owns the claims of a StatefulSet's Pod, by persistentVolumeClaimRetentionPolicy. Pure. A claim that is to go with
 * the set is controlled by the set; one that is to go with a Pod beyond the size, by that Pod. Upstream:
 * isClaimOwnerUpToDate and updateClaimOwnerRefForSetAndPod.
 */
import type { OwnerReference, PersistedObject } from '#api/object.js'
import { apiVersionOf, type ResourceRef, resources } from '#client/resources.js'
import { type Owner, ownerReference } from '../ownership/claim.js'
import type { StatefulSet } from './identity.js'

const names =
  (ref: ResourceRef, owner: Owner) =>
  (o: OwnerReference): boolean =>
    o.kind === ref.kind && o.apiVersion === apiVersionOf(ref) && o.name === owner.metadata.name

const deletes = (set: StatefulSet): { withSet: boolean; whenScaled: boolean } => ({
  withSet: set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete',
  whenScaled: set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled === 'Delete',
})

interface Owning {
  set: StatefulSet
  pod: Owner
  /** Whether the Pod is one of those that the size asks for. */
  inRange: boolean
}

/** Of a claim that is to go with set or Pod: somebody else, or one who had the name of either before, controls it. */
export const hasStrangeController = (
  claim: PersistedObject,
  { set, pod }: Pick<Owning, 'set' | 'pod'>,
): boolean => {
  const { withSet, whenScaled } = deletes(set)
  const isSet = names(resources.statefulSets, set)
  const isPod = names(resources.pods, pod)
  const isStrange = (o: OwnerReference): boolean => {
    if (isSet(o)) return o.uid !== set.metadata.uid
    return isPod(o) ? o.uid !== pod.metadata.uid : o.controller === true
  }
  return (withSet || whenScaled) && (claim.metadata.ownerReferences ?? []).some(isStrange)
}

/** The owner references as they should be, or undefined when nothing is to change. */
export const claimOwners = (
  claim: PersistedObject,
  { set, pod, inRange }: Owning,
): OwnerReference[] | undefined => {
  const owners = claim.metadata.ownerReferences ?? []
  const isSet = names(resources.statefulSets, set)
  const isPod = names(resources.pods, pod)
  const isStale = (o: OwnerReference | undefined, uid: string | undefined): boolean =>
    o !== undefined && o.uid !== uid
  // A predecessor of the same name left it behind: the garbage collector's business.
  if (isStale(owners.find(isSet), set.metadata.uid)) return undefined
  if (isStale(owners.find(isPod), pod.metadata.uid)) return undefined
  const { withSet, whenScaled } = deletes(set)
  const strangers = owners.filter((o) => !isSet(o) && !isPod(o))
  const ours = owners.filter((o) => isSet(o) || isPod(o))
  // Somebody else controls the claim: ours to leave, not to share.
  if ((withSet || whenScaled) && strangers.some((o) => o.controller))
    return ours.length > 0 ? strangers : undefined
  const wanted = [
    ...(whenScaled && !inRange ? [ownerReference(resources.pods, pod)] : []),
    ...(withSet && (inRange || !whenScaled) ? [ownerReference(resources.statefulSets, set)] : []),
  ]
  const isRight =
    ours.length === wanted.length &&
    ours.every((o) => o.controller && wanted.some((w) => w.uid === o.uid))
  return isRight ? undefined : [...strangers, ...wanted]
}

/** The claim belongs to the Pod that had this name before and will go with it: nobody may take it over. */
export const isLeftBehind = (claim: PersistedObject, set: StatefulSet, podName: string): boolean =>
  deletes(set).whenScaled &&
  (claim.metadata.ownerReferences ?? []).some((o) => o.kind === 'Pod' && o.name === podName)
