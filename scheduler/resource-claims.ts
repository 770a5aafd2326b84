import type { ObjectStore } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'

/** A claim that the Pod names, or that is to be made for it after a template, is not there. */
export const awaitsResourceClaim = (pod: Pod, claims: ObjectStore): boolean => {
  const { spec, status } = pod
  return (spec.resourceClaims ?? []).some(({ name, resourceClaimName }) => {
    const made = status?.resourceClaimStatuses?.find((s) => s.name === name)
    const wanted = resourceClaimName ?? made?.resourceClaimName
    // A template may also decide that no claim is needed: then there is a status without a name.
    if (wanted === undefined) return made === undefined
    return claims.get(`${pod.metadata.namespace}/${wanted}`) === undefined
  })
}
