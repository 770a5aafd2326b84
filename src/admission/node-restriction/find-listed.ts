import { notFound } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { findObject } from '../plugin.js'

/** As it is stored. Throws notFound, in the words of upstream's listers. */
export const findListed = async (
  { ctx }: AdmissionAttributes,
  resource: GroupResource & { singular: string },
  named: { name: string; namespace?: string },
): Promise<KubeObject> => {
  const found = await findObject(ctx, resource, named)
  if (found !== undefined) return found
  throw notFound({ group: resource.group, resource: resource.singular }, named.name)
}
