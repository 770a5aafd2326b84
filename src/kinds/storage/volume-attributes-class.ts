import { type FieldError, forbidden, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validQualifiedName } from '#validation/formats.js'
import { sameJson } from '#validation/immutable.js'
import { parametersErrors } from './parameters.js'

const validate = (object: KubeObject): FieldError[] => {
  const driver: string = (object.driverName ?? '').toLowerCase()
  return [
    ...(driver === '' ? [required('driverName')] : validQualifiedName('driverName', driver)),
    ...parametersErrors(object.parameters, { allowEmpty: false }),
  ]
}

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttributesClass',
  strategy: {
    validate,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.change(),
      ...(next.driverName === previous.driverName
        ? []
        : [forbidden('driverName', 'updates to driverName are forbidden.')]),
      ...(sameJson(next.parameters, previous.parameters)
        ? []
        : [forbidden('parameters', 'updates to parameters are forbidden.')]),
      ...metadata.create(),
      ...validate(next),
    ],
  },
  sample: {
    metadata: { name: 'sample' },
    driverName: 'example.com',
    parameters: { speed: 'fast' },
  },
})
