import { defineKind } from '#registry/resource-definition.js'

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  sample: { metadata: { name: 'sample' }, data: { a: 1 }, revision: 1 },
})
