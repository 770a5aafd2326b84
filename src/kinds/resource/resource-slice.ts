import { formatTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { defineKind, type RequestContext } from '#registry/resource-definition.js'
import {
  dropDisabledOfSlice,
  validateResourceSlice,
  validateResourceSliceUpdate,
} from '#validation/devices/slice.js'
import { sameJson } from '#validation/immutable.js'

/** A taint without a time gets the present one, with each body: upstream's decoder writes this default. */
const timeTaints = ({ spec }: KubeObject, { now }: RequestContext): void => {
  for (const device of spec?.devices ?? [])
    for (const taint of device.taints ?? []) taint.timeAdded ??= formatTime(now)
}

const warnings = ({ spec }: KubeObject): string[] => {
  const driver: string = spec?.driver ?? ''
  return driver === driver.toLowerCase()
    ? []
    : [
        `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`,
      ]
}

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceSlice',
  strategy: {
    generation: 'none',
    prepareForCreate: (slice, ctx) => {
      timeTaints(slice, ctx)
      slice.metadata.generation = 1
      dropDisabledOfSlice(slice)
    },
    prepareForUpdate: (next, previous, ctx) => {
      timeTaints(next, ctx)
      // Counted before what is off goes.
      if (!sameJson(next.spec, previous.spec))
        next.metadata.generation = (previous.metadata.generation ?? 0) + 1
      dropDisabledOfSlice(next)
    },
    validate: validateResourceSlice,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
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
