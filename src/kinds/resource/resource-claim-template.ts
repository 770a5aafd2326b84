import { child, type FieldError } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validClaimSpec } from '#validation/devices/claim.js'
import { immutable } from '#validation/immutable.js'
import { validClaimTemplateMeta } from '#validation/pod/claim-spec.js'
import { adminRequest, checkAdminAccess } from './admin-access.js'
import { defaultClaim } from './device-requests.js'

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...validClaimTemplateMeta(child('spec', 'metadata'), spec.metadata ?? {}),
  ...validClaimSpec(child('spec', 'spec'), spec.spec),
]

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  strategy: {
    generation: 'none',
    default: ({ spec }) => defaultClaim(spec?.spec),
    // Upstream names the field as a claim has it, not as the template does.
    beginCreate: (template, ctx) =>
      checkAdminAccess(template, ctx, adminRequest(template.spec?.spec), () => validate(template)),
    validate,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validate(next),
      ...metadata.change(),
      ...immutable('spec', next.spec, previous.spec, 'resource.v1.ResourceClaimTemplateSpec'),
    ],
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
