import { defineKind } from '#registry/resource-definition.js'
import { validateConfigMap, validateConfigMapUpdate } from '#validation/config-data.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  strategy: {
    validate: validateConfigMap,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) =>
      validateConfigMapUpdate(next, previous, metadata),
  },
  sample: { metadata: { name: 'sample' }, data: { a: '1' } },
})
