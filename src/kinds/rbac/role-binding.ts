import { pathSegmentName } from '#api/names.js'
import { defineKind } from '#registry/resource-definition.js'
import { defaultBinding, roleRefErrors, validateBinding } from './rules.js'

export default defineKind({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  strategy: {
    allowCreateOnUpdate: true,
    validateName: pathSegmentName,
    default: defaultBinding,
    validate: (binding) => validateBinding(binding, true),
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validateBinding(next, true),
      ...metadata.change(),
      ...roleRefErrors(next, previous),
    ],
  },
  sample: {
    metadata: { name: 'sample' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  },
})
