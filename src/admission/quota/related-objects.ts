/** What the watch cache has of the objects on which the usage of a written one depends. */
import { madeFor, type RelatedObjects } from '#api/quota/resource-claim-usage.js'
import { dependsOnOthers } from '#api/quota/usage.js'
import type { WriteAttributes } from '#registry/admission.js'
import { findObject, listObjects } from '../plugin.js'

const none: RelatedObjects = { deviceClasses: () => [], pod: () => undefined, claimsFor: () => [] }

const relatedToClaim = async (attributes: WriteAttributes): Promise<RelatedObjects> => {
  const { ctx, namespace, resource, object, oldObject } = attributes
  const owners = [object, oldObject].flatMap((claim) => (claim && madeFor(claim)) ?? [])
  const pods = await Promise.all(
    owners.map(({ name }) => findObject(ctx, { group: '', resource: 'pods' }, { name, namespace })),
  )
  const claims = owners.length === 0 ? [] : await listObjects(ctx, resource, namespace)
  const classes = await listObjects(ctx, { group: resource.group, resource: 'deviceclasses' })
  return {
    deviceClasses: () => classes,
    pod: ({ name }) => pods.find((pod) => pod?.metadata.name === name),
    claimsFor: (podUid) => claims.filter((claim) => madeFor(claim)?.uid === podUid),
  }
}

export const relatedObjects = (
  attributes: WriteAttributes,
): RelatedObjects | Promise<RelatedObjects> =>
  dependsOnOthers(attributes.resource) ? relatedToClaim(attributes) : none
