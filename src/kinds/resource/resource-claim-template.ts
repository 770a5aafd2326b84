import { invalid } from '#api/field-error.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { claimErrors, defaultClaim } from './device-requests.js'

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  strategy: {
    generation: 'none',
    default: ({ spec }) => defaultClaim(spec?.spec),
    validate: ({ spec }) => claimErrors(spec?.spec, 'spec.spec'),
    metadataRevalidation: 'change',
    validateUpdate: (next, previous) =>
      sameJson(next.spec, previous.spec) ? [] : [invalid('spec', next.spec, 'field is immutable')],
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      spec: {
        devices: { requests: [{ name: 'sample', exactly: { deviceClassName: 'sample' } }] },
      },
    },
  },
})
