import { child, duplicate, type FieldError, index, invalid, required } from '#api/field-error.js'
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
    ...isDns1123Subdomain(lower).map((m) => invalid(path, name, m)),
  ]
}

const driverErrors = (driver: Driver, path: string, names: Set<string>): FieldError[] => {
  const errors = driverNameErrors(child(path, 'name'), driver.name)
  if (!driver.nodeID) errors.push(required(child(path, 'nodeID')))
  if (Buffer.byteLength(driver.nodeID) > nodeIdLengthMax)
    errors.push(
      invalid(
        child(path, 'nodeID'),
        driver.nodeID,
        `must be ${nodeIdLengthMax} characters or less`,
      ),
    )
  errors.push(...nonNegative(child(path, 'allocatable', 'count'), driver.allocatable?.count))
  if (names.has(driver.name)) errors.push(duplicate(child(path, 'name'), driver.name))
  names.add(driver.name)
  const keys = new Set<string>()
  for (const key of driver.topologyKeys ?? []) {
    if (key === '') errors.push(required(path))
    if (keys.has(key)) errors.push(duplicate(path, key))
    keys.add(key)
    errors.push(...validQualifiedName(path, key))
  }
  return errors
}

/** Everything but the allocatable count is immutable. */
const fixed = ({ allocatable: _moves, ...rest }: Driver) => rest

const validate = ({ spec }: KubeObject): FieldError[] => {
  const names = new Set<string>()
  return ((spec?.drivers ?? []) as Driver[]).flatMap((driver, i) =>
    driverErrors(driver, index('spec.drivers', i), names),
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
      const changed = ((previous.spec.drivers ?? []) as Driver[]).flatMap((old) =>
        (given.get(old.name) ?? []).flatMap((driver) =>
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
