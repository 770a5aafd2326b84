import { invalid } from '#api/field-error.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { ownStatus } from '../status.js'
import { claimErrors, defaultClaim } from './device-requests.js'

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaim',
  strategy: {
    generation: 'none',
    default: ({ spec }) => defaultClaim(spec),
    ...ownStatus('io.k8s.api.resource.v1.ResourceClaimStatus'),
    validate: ({ spec }) => claimErrors(spec, 'spec'),
    metadataRevalidation: 'change',
    validateUpdate: (next, previous) =>
      sameJson(next.spec, previous.spec) ? [] : [invalid('spec', next.spec, 'field is immutable')],
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { devices: { requests: [{ name: 'sample', exactly: { deviceClassName: 'sample' } }] } },
  },
})
