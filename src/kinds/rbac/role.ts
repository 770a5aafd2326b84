import { pathSegmentName } from '#api/names.js'
import { defineKind } from '#registry/resource-definition.js'
import { validateRules } from './rules.js'

export default defineKind({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'Role',
  strategy: {
    allowCreateOnUpdate: true,
    validateName: pathSegmentName,
    validate: (role) => validateRules(role, true),
    metadataRevalidation: 'placed',
    validateUpdate: (role, _previous, _ctx, metadata) => [
      ...metadata.create(),
      ...validateRules(role, true),
      ...metadata.change(),
    ],
  },
  sample: {
    metadata: { name: 'sample' },
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  },
})
