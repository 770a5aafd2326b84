import { defineKind } from '#registry/resource-definition.js'
import {
  dropDisabledOfSlice,
  validateResourceSlice,
  validateResourceSliceUpdate,
} from '#validation/devices/slice.js'
import { sameJson } from '#validation/immutable.js'

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceSlice',
  strategy: {
    generation: 'none',
    prepareForCreate: (slice) => {
      slice.metadata.generation = 1
      dropDisabledOfSlice(slice)
    },
    prepareForUpdate: (next, previous) => {
      // Counted before what is off goes.
      if (!sameJson(next.spec, previous.spec))
        next.metadata.generation = (previous.metadata.generation ?? 0) + 1
      dropDisabledOfSlice(next)
    },
    validate: validateResourceSlice,
    metadataRevalidation: 'change',
    validateUpdate: validateResourceSliceUpdate,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      driver: 'example.com',
      nodeName: 'node',
      pool: { name: 'sample', generation: 1, resourceSliceCount: 1 },
    },
  },
})
