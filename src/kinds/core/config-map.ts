import { defineKind } from '#registry/resource-definition.js'
import { validateConfigMap, validateConfigMapUpdate } from '#validation/config-data.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  strategy: { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
  sample: { metadata: { name: 'sample' }, data: { a: '1' } },
})
