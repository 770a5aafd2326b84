import { pathSegmentName } from '#api/names.js'
import { defineKind } from '#registry/resource-definition.js'
import { defaultBinding, validateBinding, validateBindingUpdate } from './rules.js'

export default defineKind({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  strategy: {
    allowCreateOnUpdate: true,
    validateName: pathSegmentName,
    default: defaultBinding,
    validate: (binding) => validateBinding(binding, false),
    validateUpdate: (next, previous) => validateBindingUpdate(next, previous, false),
  },
  sample: {
    metadata: { name: 'sample' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  },
})
