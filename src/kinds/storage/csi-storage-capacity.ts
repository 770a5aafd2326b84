import type { FieldError } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain } from '#validation/formats.js'
import { immutable, immutablePointer } from '#validation/immutable.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { nodeSelectorWarnings } from '#validation/node-labels.js'
import { nonNegativeQuantity } from '#validation/number.js'

const validate = (object: KubeObject): FieldError[] => {
  const { storageClassName = '', capacity } = object
  return [
    ...validLabelSelector('nodeTopology', object.nodeTopology),
    ...validDnsSubdomain('storageClassName', storageClassName),
    ...(capacity === undefined ? [] : nonNegativeQuantity('capacity', capacity)),
  ]
}

const warnings = ({ nodeTopology }: KubeObject): string[] =>
  nodeSelectorWarnings('nodeTopology', nodeTopology)

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  strategy: {
    validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validate(next),
      ...metadata.change(),
      ...immutablePointer('nodeTopology', next.nodeTopology, previous.nodeTopology),
      ...immutable('storageClassName', next.storageClassName, previous.storageClassName),
    ],
  },
  sample: { metadata: { name: 'sample' }, storageClassName: 'sample', capacity: '1Gi' },
})
