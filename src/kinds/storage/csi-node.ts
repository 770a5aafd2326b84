import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  invalidEach,
  required,
} from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { addToList } from '#collections/add-to-list.js'
import { defineKind } from '#registry/resource-definition.js'
import { validLength, validQualifiedName } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { nonNegative } from '#validation/number.js'

const driverNameLengthMax = 63
const nodeIdLengthMax = 256

interface Driver {
  name: string
  nodeID: string
  topologyKeys?: string[]
  allocatable?: { count?: number }
}

export const driverNameErrors = (path: string, name: string): FieldError[] => {
  if (name === '') return [required(path)]
  const lower = name.toLowerCase()
  return [
    ...validLength(path, name, driverNameLengthMax),
    ...invalidEach(path, name, isDns1123Subdomain(lower)),
  ]
}

const driverErrors = (
  { name, nodeID, allocatable, topologyKeys }: Driver,
  path: string,
  isRepeatedName: (name: string) => boolean,
): FieldError[] => {
  const idAt = child(path, 'nodeID')
  const isRepeated = makeRepeatCheck()
  return [
    ...driverNameErrors(child(path, 'name'), name),
    ...(nodeID === '' ? [required(idAt)] : []),
    ...(Buffer.byteLength(nodeID) > nodeIdLengthMax
      ? [invalid(idAt, nodeID, `must be ${nodeIdLengthMax} characters or less`)]
      : []),
    ...nonNegative(child(path, 'allocatable', 'count'), allocatable?.count),
    ...(isRepeatedName(name) ? [duplicate(child(path, 'name'), name)] : []),
    // Upstream tells of keys where the driver is.
    ...each(path, topologyKeys, (key) => [
      ...(key === '' ? [required(path)] : []),
      ...(isRepeated(key) ? [duplicate(path, key)] : []),
      ...validQualifiedName(path, key),
    ]),
  ]
}

/** Everything but the allocatable count is immutable. */
const fixed = ({ allocatable: _moves, ...rest }: Driver) => rest

const validate = ({ spec }: KubeObject): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return each('spec.drivers', spec?.drivers as Driver[] | undefined, (driver, path) =>
    driverErrors(driver, path, isRepeated),
  )
}

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSINode',
  strategy: {
    metadataRevalidation: 'create',
    generation: 'none',
    validate,
    validateUpdate: (next, previous) => {
      const given = new Map<string, Driver[]>()
      for (const driver of (next.spec.drivers ?? []) as Driver[]) {
        addToList(given, driver.name, driver)
      }
      // Told of in the order of those that are stored.
      const changed = each('spec.drivers', previous.spec.drivers as Driver[] | undefined, (old) =>
        each('spec.drivers', given.get(old.name), (driver) =>
          immutable('spec.drivers', fixed(driver), fixed(old), 'storage.v1.CSINodeDriver'),
        ),
      )
      return [...validate(next), ...changed]
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { drivers: [{ name: 'example.com', nodeID: 'sample' }] },
  },
})
