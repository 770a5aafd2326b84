import { defineKind } from '#registry/resource-definition.js'

/** Nobody may write one: upstream makes them up from the health of its parts, of which there are none here. */
export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  notFoundAs: 'componentstatus',
  deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+',
  sample: { metadata: { name: 'sample' }, conditions: [{ type: 'Healthy', status: 'True' }] },
})
