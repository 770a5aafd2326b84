import { invalid } from '#api/errors.js'
import type { FieldError } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind, type RequestContext, type Strategy } from '#registry/resource-definition.js'
import { validClaimSpec } from '#validation/devices/claim.js'
import { dropDeallocatedDevices, validateClaimStatus } from '#validation/devices/claim-status.js'
import { immutable } from '#validation/immutable.js'
import { onlyStatusChanges, ownStatus } from '../status.js'
import { adminAccessErrors, adminRequest, adminResult, checkAdminAccess } from './admin-access.js'
import { defaultClaim, defaultTolerations } from './device-requests.js'

const group = 'resource.k8s.io'

/** What the writer of a status may not write. */
export type CheckStatusRights = (
  next: KubeObject,
  previous: KubeObject,
  ctx: RequestContext,
) => Promise<FieldError[]>

/** Rights come first, and are reported with what else is wrong with the status. */
export const beginStatusUpdate =
  (check: CheckStatusRights): NonNullable<Strategy['beginUpdate']> =>
  async (next, previous, ctx) => {
    if (ctx.subresource !== 'status') return undefined
    const prepared = { ...next, spec: previous.spec, status: { ...next.status } }
    dropDeallocatedDevices(prepared, previous)
    // A claim that has admin access already keeps it.
    const isAdmin = adminResult(previous.status) !== undefined
    const errors = [
      ...(await adminAccessErrors(ctx, isAdmin ? undefined : adminResult(prepared.status))),
      ...(await check(prepared, previous, ctx)),
    ]
    if (errors.length === 0) return undefined
    throw invalid({ group, kind: next.kind }, next.metadata.name ?? '', [
      ...errors,
      ...validateClaimStatus(prepared, previous),
    ])
  }

export default defineKind({
  group,
  version: 'v1',
  kind: 'ResourceClaim',
  hasTableOfStatus: false,
  strategy: {
    metadataRevalidation: 'createFirst',
    generation: 'none',
    default: ({ spec, status }) => {
      defaultClaim(spec)
      defaultTolerations(status?.allocation?.devices?.results)
    },
    ...ownStatus('io.k8s.api.resource.v1.ResourceClaimStatus'),
    beginCreate: (claim, ctx) =>
      checkAdminAccess(claim, ctx, adminRequest(claim.spec), () =>
        validClaimSpec('spec', claim.spec),
      ),
    // The server adds rights of its own.
    beginUpdate: beginStatusUpdate(async () => []),
    validate: ({ spec }) => validClaimSpec('spec', spec),
    validateUpdate: (next, previous) =>
      immutable('spec', next.spec, previous.spec, 'resource.v1.ResourceClaimSpec'),
    status: {
      prepareForUpdate: (next, previous, ctx) => {
        onlyStatusChanges(next, previous, ctx)
        dropDeallocatedDevices(next, previous)
      },
      validateUpdate: validateClaimStatus,
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { devices: { requests: [{ name: 'sample', exactly: { deviceClassName: 'sample' } }] } },
  },
})
