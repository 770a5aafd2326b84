import { defineKind } from '#registry/resource-definition.js'
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from '#validation/workload/replication-controller.js'

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  strategy: {
    validate: validateControllerRevision,
    validateUpdate: validateControllerRevisionUpdate,
  },
  sample: { metadata: { name: 'sample' }, data: { a: 1 }, revision: 1 },
})
