import { type FieldError, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain, validPathSegment } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { canonicalIpMessages } from '#validation/network.js'

const parentErrors = (parent: KubeObject['spec']): FieldError[] => {
  const path = 'spec.parentRef'
  if (!parent) return [required(path)]
  const { group = '', resource = '', namespace = '', name = '' } = parent
  return [
    ...(group === '' ? [] : validDnsSubdomain(`${path}.group`, group)),
    ...validPathSegment(`${path}.resource`, resource),
    ...validPathSegment(`${path}.name`, name),
    ...(namespace === '' ? [] : validPathSegment(`${path}.namespace`, namespace)),
  ]
}

export default defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IPAddress',
  strategy: {
    generation: 'none',
    // The name is the address itself, in the one form that it has.
    validateName: canonicalIpMessages,
    generateName: (base) => base,
    validate: ({ spec }) => parentErrors(spec?.parentRef),
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...parentErrors(next.spec?.parentRef),
      ...metadata.change(),
      ...immutable(
        'spec.parentRef',
        next.spec?.parentRef,
        previous.spec?.parentRef,
        'networking.v1.ParentReference',
      ),
    ],
  },
  sample: {
    metadata: { name: '10.255.255.1' },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'sample' } },
  },
})
