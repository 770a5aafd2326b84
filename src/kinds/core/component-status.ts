import { defineKind } from '#registry/resource-definition.js'

/** Nobody can write one: they are computed for each reader (src/server/component-statuses.ts). */
export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  isNeverStored: true,
  notFoundAs: 'componentstatus',
  deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+',
  sample: { metadata: { name: 'sample' }, conditions: [{ type: 'Healthy', status: 'True' }] },
})
