/**
 * Who may write what into the status of a ResourceClaim (kubernetes, pkg/registry/resource, AuthorizedForBinding and
 * AuthorizedForDeviceStatus). The right to update statuses is not enough: allocating takes a right on
 * `resourceclaims/binding`, and what a driver says of its devices takes one on `resourceclaims/driver`.
 */
import { type FieldError, forbidden } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { isServiceAccountOnNode } from '#api/user-info.js'
import { type Attributes, type Authorizer, errorAndReasonOf } from '#authz/authorizer.js'
import { forbiddenError } from '#filters/authorization.js'
import { compareTexts } from '#go/compare-texts.js'
import { semanticEqual } from '#json/object.js'
import type { CheckStatusRights } from '#kinds/resource/resource-claim.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { deviceKey } from '#validation/devices/claim-status.js'

type About = Pick<Attributes, 'verb' | 'subresource' | 'namespace' | 'name'>

/** Why not; undefined if it is allowed, whatever errors authorizers met. */
const refusalOf = async (
  authorizer: Authorizer,
  { user }: RequestContext,
  about: About,
): Promise<string | undefined> => {
  const attributes: Attributes = {
    user,
    isResourceRequest: true,
    path: '',
    apiGroup: 'resource.k8s.io',
    apiVersion: 'v1',
    resource: 'resourceclaims',
    ...about,
  }
  const made = await authorizer.authorize(attributes)
  if (made.decision === 'allow') return undefined
  return forbiddenError(attributes, errorAndReasonOf(made)).message
}

const bindingErrors = async (
  authorizer: Authorizer,
  ctx: RequestContext,
  { status, previous }: { status: Fields; previous: Fields },
): Promise<FieldError[]> => {
  if (
    semanticEqual(status.allocation, previous.allocation) &&
    semanticEqual(status.reservedFor, previous.reservedFor)
  )
    return []
  const { verb } = ctx
  const about = { verb, subresource: 'binding', namespace: '', name: '' }
  const refusal = await refusalOf(authorizer, ctx, about)
  if (refusal === undefined) return []
  const needed = `resource="resourceclaims/binding", verb="${verb}" permission`
  return [
    forbidden(
      'status.allocation',
      `changing status.allocation or status.reservedFor requires ${needed}: ${refusal}`,
    ),
  ]
}

/** Drivers with a device that is new, gone or described anew. */
const changedDrivers = (status: Fields, previous: Fields): string[] => {
  const drivers = new Set<string>()
  const before = new Map<string, Fields>(
    ((previous.devices ?? []) as Fields[]).map((device) => [deviceKey(device), device]),
  )
  for (const device of (status.devices ?? []) as Fields[]) {
    const key = deviceKey(device)
    if (!before.has(key) || !semanticEqual(before.get(key), device))
      drivers.add(device.driver ?? '')
    before.delete(key)
  }
  for (const { driver = '' } of before.values()) drivers.add(driver)
  return [...drivers].sort(compareTexts)
}

/** The one node that an allocation is for, if it is for one. */
const nodeOf = ({ nodeSelector }: Fields): string | undefined => {
  const terms: Fields[] = nodeSelector?.nodeSelectorTerms ?? []
  const { matchExpressions = [], matchFields = [] } = terms[0] ?? {}
  if (terms.length !== 1 || matchExpressions.length > 0 || matchFields.length !== 1)
    return undefined
  const { key, operator, values = [] } = matchFields[0]
  return key === 'metadata.name' && operator === 'In' && values.length === 1 ? values[0] : undefined
}

const driverErrors = async (
  authorizer: Authorizer,
  ctx: RequestContext,
  { status, previous }: { status: Fields; previous: Fields },
): Promise<FieldError[]> => {
  // Deallocation takes the devices with it.
  if (status.allocation === undefined) return []
  const anywhere = `arbitrary-node:${ctx.verb}`
  const node = nodeOf(status.allocation)
  const isOnNode =
    node !== undefined &&
    isDns1123Subdomain(node).length === 0 &&
    isServiceAccountOnNode(ctx.user, node)
  const verbs = isOnNode ? [`associated-node:${ctx.verb}`, anywhere] : [anywhere]
  const errors: FieldError[] = []
  for (const name of changedDrivers(status, previous)) {
    const refusals: string[] = []
    for (const verb of verbs) {
      const about = { verb, subresource: 'driver', namespace: ctx.namespace ?? '', name }
      const refusal = await refusalOf(authorizer, ctx, about)
      if (refusal === undefined) break
      refusals.push(refusal)
    }
    if (refusals.length < verbs.length) continue
    const needed = `resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`
    errors.push(
      forbidden('status.devices', `changing status.devices requires ${needed}: ${refusals[0]}`),
    )
  }
  return errors
}

export const claimStatusRights =
  (authorizer: Authorizer): CheckStatusRights =>
  async ({ status }, { status: stored }, ctx) => {
    const statuses = { status, previous: stored ?? {} }
    return [
      ...(await bindingErrors(authorizer, ctx, statuses)),
      ...(await driverErrors(authorizer, ctx, statuses)),
    ]
  }
