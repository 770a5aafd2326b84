import { child, duplicate, type FieldError, index, invalid, required } from '#api/field-error.js'
import { isDns1123Label, isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutable } from '#validation/immutable.js'

const placements = ['nodeName', 'nodeSelector', 'allNodes', 'perDeviceNodeSelection']

interface Device {
  name?: string
  attributes?: Record<string, object>
}

const named = (path: string, name: string, check: (name: string) => string[]): FieldError[] =>
  name === '' ? [required(path)] : check(name).map((m) => invalid(path, name, m))

const placementErrors = (spec: KubeObject['spec']): FieldError[] => {
  const set = placements.filter((field) => spec[field])
  const text = `exactly one of ${placements.map((f) => `\`${f}\``).join(', ')} is required`
  if (set.length === 1) return []
  if (set.length === 0) return [required('spec', text)]
  const shown = `{${set.map((field) => `\`${field}\``).join(', ')}}`
  return [invalid('spec', shown, `${text}, but multiple fields are set`)]
}

const deviceErrors = (devices: Device[]): FieldError[] => {
  const names = new Set<string>()
  return devices.flatMap((device, i) => {
    const path = index('spec.devices', i)
    const name = device.name ?? ''
    const repeated = names.has(name) ? [duplicate(path, name)] : []
    names.add(name)
    const attributes = Object.entries(device.attributes ?? {}).flatMap(([key, value]) =>
      Object.keys(value).length === 0
        ? [
            invalid(
              index(child(path, 'attributes'), key),
              '',
              'exactly one value must be specified',
            ),
          ]
        : [],
    )
    return [...named(child(path, 'name'), name, isDns1123Label), ...attributes, ...repeated]
  })
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const { pool = {} } = spec
  const { name = '', generation = 0, resourceSliceCount = 0 } = pool
  return [
    ...named('spec.driver', spec.driver ?? '', isDns1123Subdomain),
    ...(name === ''
      ? [required('spec.pool.name')]
      : name
          .split('/')
          .flatMap((part: string) =>
            isDns1123Subdomain(part).map((m) => invalid('spec.pool.name', name, m)),
          )),
    ...(resourceSliceCount > 0
      ? []
      : [invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero')]),
    ...(generation < 0
      ? [invalid('spec.pool.generation', generation, 'must be greater than or equal to zero')]
      : []),
    ...placementErrors(spec),
    ...deviceErrors(spec.devices ?? []),
  ]
}

export default defineKind({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceSlice',
  strategy: {
    validate,
    validateUpdate: (next, previous) => [
      ...validate(next),
      ...immutable('spec.pool.name', next.spec?.pool?.name, previous.spec?.pool?.name),
      ...immutable('spec.driver', next.spec?.driver, previous.spec?.driver),
      ...immutable('spec.nodeName', next.spec?.nodeName, previous.spec?.nodeName),
    ],
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
