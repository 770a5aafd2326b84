import { child, type FieldError, index, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...((spec.selectors ?? []) as { cel?: object }[]).flatMap(({ cel }, i) =>
    cel ? [] : [required(child(index('spec.selectors', i), 'cel'))],
  ),
  ...((spec.config ?? []) as { opaque?: object }[]).flatMap(({ opaque }, i) =>
    opaque ? [] : [required(child(index('spec.config', i), 'opaque'))],
  ),
]

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  strategy: { validate, validateUpdate: validate },
  sample: { metadata: { name: 'sample' }, spec: {} },
})
