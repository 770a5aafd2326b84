import { defineKind } from '#registry/resource-definition.js'
import { validClaimSpec } from '#validation/devices/claim.js'
import { dropDeallocatedDevices, validateClaimStatus } from '#validation/devices/claim-status.js'
import { immutable } from '#validation/immutable.js'
import { onlyStatusChanges, ownStatus } from '../status.js'
import { adminRequest, adminResult, checkAdminAccess } from './admin-access.js'
import { defaultClaim, defaultTolerations } from './device-requests.js'

export default defineKind({
  group: 'resource.k8s.io',
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
    // A claim that has admin access already keeps it.
    beginUpdate: (next, previous, ctx) =>
      ctx.subresource === 'status' && adminResult(previous.status) === undefined
        ? checkAdminAccess(next, ctx, adminResult(next.status), () =>
            validateClaimStatus(next, previous),
          )
        : Promise.resolve(undefined),
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
