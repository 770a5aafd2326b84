import { type FieldError, invalid } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutable } from '#validation/immutable.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { nonNegativeQuantity } from '#validation/number.js'

const quantity = (path: string, value: string | undefined): FieldError[] =>
  value === undefined ? [] : nonNegativeQuantity(path, value)

const validate = (object: KubeObject): FieldError[] => {
  const name: string = object.storageClassName ?? ''
  return [
    ...validLabelSelector('nodeTopology', object.nodeTopology),
    ...isDns1123Subdomain(name).map((m) => invalid('storageClassName', name, m)),
    ...quantity('capacity', object.capacity),
  ]
}

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  strategy: {
    validate,
    validateUpdate: (next, previous) => [
      ...validate(next),
      ...immutable('nodeTopology', next.nodeTopology, previous.nodeTopology),
      ...immutable('storageClassName', next.storageClassName, previous.storageClassName),
    ],
  },
  sample: { metadata: { name: 'sample' }, storageClassName: 'sample', capacity: '1Gi' },
})
