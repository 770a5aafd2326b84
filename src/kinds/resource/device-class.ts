import { type FieldError, invalid } from '#api/field-error.js'
import { longName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { isExtendedResource } from '#api/resource-names.js'
import { defineKind } from '#registry/resource-definition.js'
import { configsMax } from '#validation/devices/claim.js'
import { validConfiguration, validList, validSelectors } from '#validation/devices/names.js'

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...validSelectors('spec.selectors', spec.selectors),
  ...validList('spec.config', spec.config as Fields[], configsMax, (config, path) =>
    validConfiguration(path, config),
  ),
  ...(spec.extendedResourceName === undefined || isExtendedResource(spec.extendedResourceName)
    ? []
    : [
        invalid(
          'spec.extendedResourceName',
          spec.extendedResourceName,
          'must be a valid extended resource name',
        ),
      ]),
]

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  strategy: {
    validateName: longName,
    metadataRevalidation: 'createFirst',
    validate,
    validateUpdate: validate,
  },
  sample: { metadata: { name: 'sample' }, spec: {} },
})
