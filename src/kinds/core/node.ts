import { index } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { isGiven } from '#json/given-empty.js'
import { defineKind } from '#registry/resource-definition.js'
import { cidrWarnings } from '#validation/network.js'
import { validateNode, validateNodeUpdate } from '#validation/node.js'
import { roundResourceList } from '../pods/resource-lists.js'

const writeDefaults = ({ spec, status }: KubeObject): void => {
  // The first range stands alone too; where the two differ that one counts.
  if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR]
  if (spec.podCIDRs?.length > 0) spec.podCIDR = spec.podCIDRs[0]
  roundResourceList(status.capacity)
  if (status.capacity !== undefined && !isGiven(status, 'allocatable'))
    status.allocatable = { ...status.capacity }
  roundResourceList(status.allocatable)
}

// Old kubelets still write the state of a configuration that no longer exists.
const dropConfig = (status: Fields): void => {
  delete status.config
}

const warnings = ({ spec }: KubeObject): string[] => [
  ...(spec.externalID
    ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes']
    : []),
  ...((spec.podCIDRs ?? []) as string[]).flatMap((range, i) =>
    cidrWarnings(index('spec.podCIDRs', i), range),
  ),
]

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Node',
  strategy: {
    generation: 'none',
    default: writeDefaults,
    prepareForCreate: (node) => {
      delete node.spec.configSource
      dropConfig(node.status)
    },
    validate: validateNode,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validateNode(next),
      ...metadata.change(),
      ...validateNodeUpdate(next, previous),
    ],
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    prepareForUpdate: (next, previous) => {
      next.status = previous.status
      delete next.spec.configSource
    },
    status: {
      validateUpdate: validateNodeUpdate,
      prepareForUpdate: (next, previous) => {
        next.spec = previous.spec
        dropConfig(next.status)
      },
    },
  },
  sample: { metadata: { name: 'sample' } },
})
