/** Changes of claims and their statuses (kubernetes, core/validation: ValidatePersistentVolumeClaimUpdate). */

import { eachEntry } from '#api/each.js'
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { compareQuantities, int64Value, parseQuantity } from '#api/quantity.js'
import { isNativeResource } from '#api/resource-names.js'
import { storageClassAnnotation } from '#api/storage-class.js'
import { isGiven } from '#json/given-empty.js'
import { semanticEqual } from '#json/object.js'
import { immutable } from './immutable.js'
import { internalForm } from './internal-form.js'
import { validClaimSpec } from './pod/claim-spec.js'
import { validAmount } from './pod/resources.js'
import { unifiedDiff } from './unified-diff.js'

const annotationOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.annotations?.[storageClassAnnotation]

/** The class of old claims stands in an annotation, from which it may move to its field. */
const movesFromAnnotation = (next: KubeObject, previous: KubeObject): boolean => {
  const stored = annotationOf(previous)
  const given = annotationOf(next)
  return (
    stored !== undefined &&
    previous.spec.storageClassName === undefined &&
    next.spec.storageClassName === stored &&
    (given === undefined || given === stored)
  )
}

/** A claim without a class may get one. */
const setsClass = (next: KubeObject, previous: KubeObject): boolean => {
  const stored = annotationOf(previous)
  const given = next.spec.storageClassName
  return (
    given !== undefined &&
    previous.spec.storageClassName === undefined &&
    (stored === undefined || given === stored)
  )
}

const without = (spec: Fields, field: string): Fields => {
  const { [field]: _gone, ...rest } = spec
  return rest
}
const withField = (spec: Fields, field: string, value: unknown): Fields =>
  value === undefined ? without(spec, field) : { ...spec, [field]: value }

/** The two specs with all that may change made equal. */
const comparable = (next: KubeObject, previous: KubeObject): readonly [Fields, Fields] => {
  let [spec, stored]: Fields[] = [next.spec, previous.spec] as [Fields, Fields]
  if (!stored.volumeName) stored = withField(stored, 'volumeName', spec.volumeName)
  if (movesFromAnnotation(next, previous) || setsClass(next, previous))
    spec = without(spec, 'storageClassName')
  if (previous.status?.phase === 'Bound') {
    const { requests } = spec.resources ?? {}
    if (isGiven(spec.resources, 'requests'))
      spec = {
        ...spec,
        resources: {
          ...spec.resources,
          requests: { ...requests, storage: stored.resources?.requests?.storage ?? '0' },
        },
      }
    spec = withField(spec, 'volumeAttributesClassName', stored.volumeAttributesClassName)
  }
  return [spec, stored]
}

const shrinkErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const sizeOf = (text: string | undefined) => parseQuantity(text ?? '0')
  const size = sizeOf(next.spec.resources?.requests?.storage)
  const shrinks = compareQuantities(size, sizeOf(previous.spec.resources?.requests?.storage)) < 0
  const floor = sizeOf(previous.status?.capacity?.storage)
  return shrinks && compareQuantities(size, floor) <= 0
    ? [forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : []
}

const attributesErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const given = next.spec.volumeAttributesClassName
  const changed = given !== previous.spec.volumeAttributesClassName
  if (!changed || previous.status?.currentVolumeAttributesClassName === undefined || given)
    return []
  const what = given === undefined ? 'nil' : 'empty string'
  return [
    forbidden(
      'spec.volumeAttributesClassName',
      `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    ),
  ]
}

export const validateClaimUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const errors = validClaimSpec('spec', next.spec ?? {})
  const given = annotationOf(next)
  if (!movesFromAnnotation(next, previous) && given !== annotationOf(previous))
    errors.push(
      invalid(`metadata.annotations.${storageClassAnnotation}`, given ?? '', 'field is immutable'),
    )
  const [spec, stored] = comparable(next, previous)
  const printed = (part: Fields): Fields => internalForm('core.v1.PersistentVolumeClaimSpec', part)
  if (!semanticEqual(spec, stored))
    errors.push(
      forbidden(
        'spec',
        `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${unifiedDiff(printed(stored), printed(spec))}`,
      ),
    )
  return [
    ...errors,
    ...shrinkErrors(next, previous),
    ...immutable('volumeMode', next.spec.volumeMode, previous.spec.volumeMode).map(shownAsJson),
    ...attributesErrors(next, previous),
  ]
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

const resourceKeyErrors = (path: string, name: string): FieldError[] => {
  const malformed = isQualifiedName(name)
  if (malformed.length > 0) return malformed.map((message) => invalid(path, name, message))
  return isNativeResource(name) && name !== 'storage' ? [notSupported(path, name, ['storage'])] : []
}

const basicErrors = (path: string, text: string): FieldError[] => {
  const value = int64Value(parseQuantity(text))
  return value < 0n ? [invalid(path, value, 'must be a valid resource quantity')] : []
}

export const validateClaimStatus = ({ spec, status = {} }: KubeObject): FieldError[] => {
  const statesAt = 'status.allocatedResourceStatuses'
  const allocatedAt = 'status.allocatedResources'
  const quantities = (list: unknown) => list as Record<string, string> | undefined
  return [
    ...((spec?.accessModes ?? []).length === 0 ? [required('Spec.accessModes')] : []),
    ...eachEntry('status.capacity', quantities(status.capacity), (_name, text, at) =>
      basicErrors(at, text),
    ),
    ...eachEntry(statesAt, quantities(status.allocatedResourceStatuses), (name, state) => [
      ...resourceKeyErrors(statesAt, name),
      ...(resizeStates.includes(state) ? [] : [notSupported(statesAt, name, resizeStates)]),
    ]),
    ...eachEntry(allocatedAt, quantities(status.allocatedResources), (name, text, at) => {
      const errors = [...resourceKeyErrors(allocatedAt, name)]
      if (errors.length > 0) return errors
      const basic = basicErrors(at, text)
      return basic.length > 0 ? basic : validAmount(at, 'storage', text)
    }),
  ]
}
