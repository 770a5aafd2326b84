import { type FieldError, invalid, required } from '#api/field-error.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { canonicalIpMessages } from '#validation/network.js'

const parentErrors = (parent: KubeObject['spec']): FieldError[] => {
  const path = 'spec.parentRef'
  if (!parent) return [required(path)]
  const { group = '', resource = '', namespace = '', name = '' } = parent
  const segment = (field: string, value: string): FieldError[] =>
    pathSegmentName(value, false).map((m) => invalid(`${path}.${field}`, value, m))
  return [
    ...(group === '' ? [] : validDnsSubdomain(`${path}.group`, group)),
    ...(resource === '' ? [required(`${path}.resource`)] : segment('resource', resource)),
    ...(name === '' ? [required(`${path}.name`)] : segment('name', name)),
    ...(namespace === '' ? [] : segment('namespace', namespace)),
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
