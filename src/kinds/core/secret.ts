import { defineKind } from '#registry/resource-definition.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Secret',
  strategy: {
    default: (secret) => {
      secret.type ??= 'Opaque'
    },
  },
  sample: { metadata: { name: 'sample' }, data: { a: 'YQ==' } },
})
