import { defineKind } from '#registry/resource-definition.js'
import { createBindingByName } from './pod-binding.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Binding',
  strategy: { createInstead: createBindingByName },
  sample: { metadata: { name: 'sample' }, target: { kind: 'Node', name: 'node' } },
})
