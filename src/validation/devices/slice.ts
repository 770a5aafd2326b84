/** Slices of devices (kubernetes, resource/validation validateResourceSliceSpec). */

import { eachEntry } from '#api/each.js'
import {
  child,
  type FieldError,
  index,
  invalid,
  required,
  shownAsJson,
  tooMany,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { forgetGivenEmptyField, isGiven } from '#json/given-empty.js'
import { validDnsLabel, validDnsSubdomain, validLength } from '../formats.js'
import { immutable, sameJson } from '../immutable.js'
import { internalForm } from '../internal-form.js'
import { validNodeSelector } from '../pod/affinity.js'
import { validBindingConditions } from './bindings.js'
import { validCapacity } from './capacity.js'
import {
  validDeviceName,
  validDriverName,
  validList,
  validPoolName,
  validQualifiedName,
  validSet,
} from './names.js'
import { validDeviceTaint } from './taints.js'

const devicesMax = 128
/** With taints or counters, which cost more. */
const costlyDevicesMax = 64
const attributesAndCapacitiesMax = 32
const attributeValuesMax = 48
const valueLengthMax = 64
const taintsMax = 16
const counterSetsMax = 8
const countersMax = 32
const consumptionsMax = 2
const keyLengthMax = 63 + 1 + 32

const number = String.raw`(0|[1-9]\d*)`
const preRelease = String.raw`(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
const build = '[0-9a-zA-Z-]+'
const semanticVersion = new RegExp(
  String.raw`^${number}\.${number}\.${number}(-${preRelease}(\.${preRelease})*)?(\+${build}(\.${build})*)?$`,
)

/** Long keys are cut in their middle. */
const shortKey = (key: string): string => {
  if (key.length <= keyLengthMax) return key
  const rest = keyLengthMax - '...'.length
  return `${key.slice(0, Math.floor((rest + 1) / 2))}...${key.slice(key.length - Math.floor(rest / 2))}`
}

/** Keys are reported at the map, values at their keys. */
const validMap = <T>(
  path: string,
  map: Record<string, T> | undefined,
  key: (path: string, name: string) => FieldError[],
  value: (item: T, path: string) => FieldError[],
): FieldError[] =>
  eachEntry(path, map, (name, item) => [
    ...key(path, name),
    ...value(item, index(path, shortKey(name))),
  ])

const attributeErrors = (attribute: Fields, path: string): FieldError[] => {
  const { string, version } = attribute
  const given = ['int', 'bool', 'string', 'version'].filter((f) => attribute[f] !== undefined)
  const long = (field: string): FieldError[] =>
    validLength(child(path, field), attribute[field] ?? '', valueLengthMax)
  const one = 'exactly one value must be specified'
  return [
    ...(string === undefined ? [] : long('string')),
    ...(version === undefined || semanticVersion.test(version)
      ? []
      : [
          invalid(
            child(path, 'version'),
            version,
            'must be a string compatible with semver.org spec 2.0.0',
          ),
        ]),
    ...(version === undefined ? [] : long('version')),
    ...(given.length === 0 ? [invalid(path, '', one)] : []),
    ...(given.length > 1
      ? [invalid(path, internalForm('resource.v1.DeviceAttribute', attribute), one)]
      : []),
  ]
}

const placedBy = (part: Fields, path: string, fields: readonly string[], empty: string) => {
  const set: string[] = []
  const errors: FieldError[] = []
  const { nodeName, nodeSelector } = part
  if (nodeName !== undefined) {
    const at = child(path, 'nodeName')
    if (nodeName === '') errors.push(invalid(at, '', empty))
    else {
      set.push('`nodeName`')
      errors.push(...validDnsSubdomain(at, nodeName))
    }
  }
  if (nodeSelector !== undefined) {
    set.push('`nodeSelector`')
    pushAll(errors, validNodeSelector(child(path, 'nodeSelector'), nodeSelector))
  }
  return {
    set,
    errors,
    flags: () => {
      for (const field of fields)
        if (part[field] === true) set.push(`\`${field}\``)
        else if (part[field] === false)
          errors.push(invalid(child(path, field), false, 'must be either unset or set to true'))
    },
  }
}

const oneOfNodes = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required'
const whenPerDevice = 'when `perDeviceNodeSelection` is set to true in the ResourceSlice spec'

const deviceNodeErrors = (device: Fields, path: string, isPerDevice: boolean): FieldError[] => {
  if (!isPerDevice)
    return ['nodeName', 'nodeSelector', 'allNodes'].some((field) => device[field] !== undefined)
      ? [
          invalid(
            path,
            null,
            '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
          ),
        ]
      : []
  const { set, errors, flags } = placedBy(device, path, ['allNodes'], 'must not be empty')
  flags()
  if (set.length === 1) return errors
  const text = `${oneOfNodes} ${whenPerDevice}`
  return set.length === 0
    ? [...errors, required(path, text)]
    : [...errors, invalid(path, `{${set.join(', ')}}`, text)]
}

const counterErrors = (owner: Fields, path: string, nameField: string): FieldError[] => {
  const name: string = owner[nameField] ?? ''
  const at = child(path, nameField)
  const countersAt = child(path, 'counters')
  const count = Object.keys(owner.counters ?? {}).length
  return [
    ...(name === '' ? [required(at)] : validDnsLabel(at, name)),
    ...(count === 0 ? [required(countersAt)] : []),
    ...(count > countersMax
      ? [tooMany(countersAt, count, countersMax)]
      : validMap(countersAt, owner.counters, validDnsLabel, () => [])),
  ]
}

const deviceErrors = (
  device: Fields,
  path: string,
  spec: Fields,
  stored?: Fields,
): FieldError[] => {
  const { attributes = {}, capacity = {} } = device
  const values = Object.keys(attributes).length
  const size = values + Object.keys(capacity).length
  const isShared = device.allowMultipleAllocations === true
  return [
    ...validDeviceName(child(path, 'name'), device.name ?? ''),
    ...(size > attributesAndCapacitiesMax
      ? [
          invalid(
            path,
            size,
            `the total number of attributes and capacities must not exceed ${attributesAndCapacitiesMax}`,
          ),
        ]
      : []),
    ...(values > attributeValuesMax
      ? [
          invalid(
            path,
            values,
            `the total number of attribute values must not exceed ${attributeValuesMax}`,
          ),
        ]
      : []),
    ...validMap(
      child(path, 'attributes'),
      attributes as Record<string, Fields>,
      validQualifiedName,
      attributeErrors,
    ),
    ...validMap(
      child(path, 'capacity'),
      capacity as Record<string, Fields>,
      validQualifiedName,
      (item, at) => validCapacity(at, item, isShared),
    ),
    ...(stored !== undefined && sameJson(stored.taints, device.taints)
      ? []
      : validList(child(path, 'taints'), device.taints as Fields[], taintsMax, validDeviceTaint)),
    ...validSet(
      child(path, 'consumesCounters'),
      device.consumesCounters as Fields[],
      { max: consumptionsMax, keyOf: ({ counterSet = '' }) => counterSet },
      (consumption, at) => counterErrors(consumption, at, 'counterSet'),
    ),
    ...deviceNodeErrors(device, path, spec.perDeviceNodeSelection === true),
    ...validBindingConditions(device, path),
  ]
}

const poolErrors = ({ name = '', generation = 0, resourceSliceCount = 0 }: Fields) => [
  ...validPoolName('spec.pool.name', name),
  ...(resourceSliceCount > 0
    ? []
    : [invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero')]),
  ...(generation < 0
    ? [invalid('spec.pool.generation', generation, 'must be greater than or equal to zero')]
    : []),
]

const placements = ['`nodeName`', '`nodeSelector`', '`allNodes`', '`perDeviceNodeSelection`']

const placementErrors = (spec: Fields): FieldError[] => {
  const fields = ['allNodes', 'perDeviceNodeSelection']
  const empty = 'must be either unset or set to a non-empty string'
  const { set, errors, flags } = placedBy(spec, 'spec', fields, empty)
  const terms: Fields[] = spec.nodeSelector?.nodeSelectorTerms ?? []
  if (spec.nodeSelector !== undefined && terms.length !== 1)
    errors.push(
      invalid(
        'spec.nodeSelector.nodeSelectorTerms',
        internalForm('core.v1.NodeSelector', spec.nodeSelector).NodeSelectorTerms,
        'must have exactly one node selector term',
      ),
    )
  flags()
  const text = `exactly one of ${placements.join(', ')} is required`
  if (set.length === 1) return errors
  return set.length === 0
    ? [...errors, required('spec', text)]
    : [...errors, invalid('spec', `{${set.join(', ')}}`, `${text}, but multiple fields are set`)]
}

const isCostly = (device: Fields): boolean =>
  device.taints?.length > 0 || device.consumesCounters?.length > 0

const fixedErrors = (spec: Fields, stored: Fields): FieldError[] => [
  ...immutable('spec.pool.name', spec.pool?.name ?? '', stored.pool?.name),
  ...immutable('spec.driver', spec.driver ?? '', stored.driver),
  ...immutable('spec.nodeName', spec.nodeName, stored.nodeName).map(shownAsJson),
]

const sliceErrors = ({ spec = {} }: KubeObject, previous?: KubeObject): FieldError[] => {
  const devices: Fields[] = spec.devices ?? []
  const stored: Fields[] = previous?.spec?.devices ?? []
  const nameOf = ({ name = '' }: Fields): string => name
  return [
    ...validDriverName('spec.driver', spec.driver ?? ''),
    ...poolErrors(spec.pool ?? {}),
    ...(previous === undefined ? [] : fixedErrors(spec, previous.spec)),
    ...placementErrors(spec),
    ...(isGiven(spec, 'sharedCounters') && isGiven(spec, 'devices')
      ? [invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed')]
      : []),
    ...validSet(
      'spec.devices',
      devices,
      { max: devices.some(isCostly) ? costlyDevicesMax : devicesMax, keyOf: nameOf },
      (device, at) => {
        const before = stored.find((other) => nameOf(other) === nameOf(device))
        return deviceErrors(device, at, spec, before)
      },
    ),
    ...validSet(
      'spec.sharedCounters',
      spec.sharedCounters as Fields[],
      { max: counterSetsMax, keyOf: nameOf },
      (set, at) => counterErrors(set, at, 'name'),
    ),
  ]
}

export const validateResourceSlice = (slice: KubeObject): FieldError[] => sliceErrors(slice)
export const validateResourceSliceUpdate = sliceErrors

/** Lists as attributes and resources of nodes behind devices are features that are off in v1.36. */
export const dropDisabledOfSlice = ({ spec }: KubeObject): void => {
  for (const device of (spec?.devices ?? []) as Fields[]) {
    delete device.nodeAllocatableResourceMappings
    for (const attribute of Object.values((device.attributes ?? {}) as Record<string, Fields>))
      for (const field of ['ints', 'bools', 'strings', 'versions']) {
        delete attribute[field]
        forgetGivenEmptyField(attribute, field)
      }
  }
}
