import { defineKind } from '#registry/resource-definition.js'
import { bindingStrategy } from './rules.js'

export default defineKind({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  strategy: bindingStrategy(true),
  sample: {
    metadata: { name: 'sample' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  },
})
