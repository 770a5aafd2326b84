import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { compareQuantities, parseQuantity } from '#api/quantity.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { validAccessModes, validVolumeMode } from './volume-modes.js'

// biome-ignore lint/suspicious/noExplicitAny: the claim's spec is read here and there
type Spec = Record<string, any>

const storageErrors = (spec: Spec): FieldError[] => {
  const path = index('spec.resources', 'storage')
  const storage = spec.resources?.requests?.storage
  if (storage === undefined) return [required(path)]
  return parseQuantity(String(storage)).nano > 0n
    ? []
    : [invalid(path, String(storage), 'must be greater than zero')]
}

const sourceErrors = (source: Spec | undefined, path: string): FieldError[] => {
  if (!source) return []
  const { name = '', kind = '' } = source
  const apiGroup: string = source.apiGroup ?? ''
  const errors: FieldError[] = []
  if (name === '') errors.push(required(child(path, 'name')))
  if (kind === '') errors.push(required(child(path, 'kind')))
  if (apiGroup === '' && kind !== '' && kind !== 'PersistentVolumeClaim')
    errors.push(
      invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"),
    )
  if (apiGroup !== '')
    errors.push(
      ...isDns1123Subdomain(apiGroup).map((m) => invalid(child(path, 'apiGroup'), apiGroup, m)),
    )
  return errors
}

const className = (path: string, name: string | undefined): FieldError[] =>
  name ? isDns1123Subdomain(name).map((m) => invalid(path, name, m)) : []

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const { dataSource, dataSourceRef } = spec
  const mismatch =
    dataSource &&
    dataSourceRef &&
    !dataSourceRef.namespace &&
    (dataSource.kind !== dataSourceRef.kind ||
      dataSource.name !== dataSourceRef.name ||
      (dataSource.apiGroup ?? '') !== (dataSourceRef.apiGroup ?? ''))
  return [
    ...validLabelSelector('spec.selector', spec.selector),
    ...((spec.accessModes ?? []).length === 0
      ? [required('spec.accessModes', 'at least 1 access mode is required')]
      : validAccessModes('spec.accessModes', spec.accessModes)),
    ...storageErrors(spec),
    ...className('spec.storageClassName', spec.storageClassName),
    ...validVolumeMode('spec.volumeMode', spec.volumeMode),
    ...sourceErrors(dataSource, 'spec.dataSource'),
    ...sourceErrors(dataSourceRef, 'spec.dataSourceRef'),
    ...(mismatch ? [invalid('spec', {}, 'must match dataSourceRef')] : []),
    ...className('spec.volumeAttributesClassName', spec.volumeAttributesClassName),
  ]
}

const isClaimOrSnapshot = ({ kind, apiGroup }: Spec): boolean =>
  (kind === 'PersistentVolumeClaim' && !apiGroup) ||
  (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io')

/**
 * The two fields for a data source say the same for the kinds that both may name. What only the newer field may name is
 * dropped from the older one, and a reference into another namespace is dropped: that feature is off by default.
 */
const normalizeDataSource = ({ spec }: KubeObject, previous?: KubeObject): void => {
  if (!spec) return
  if (spec.dataSourceRef?.namespace && !previous?.spec?.dataSourceRef?.namespace) {
    delete spec.dataSource
    delete spec.dataSourceRef
  }
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef && !isClaimOrSnapshot(dataSource)) {
    if (!previous?.spec?.dataSource) delete spec.dataSource
    return
  }
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace)
    spec.dataSource = { ...dataSourceRef }
}

const immutableMessage =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

const validateUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const errors = validate(next)
  const bound = previous.status?.phase === 'Bound'
  const requestsOf = (claim: KubeObject) => claim.spec?.resources?.requests ?? {}
  const comparable = (claim: KubeObject, keep: boolean): Spec => {
    const { volumeName, storageClassName, volumeAttributesClassName, resources, ...rest } =
      claim.spec ?? {}
    return {
      ...rest,
      storageClassName: storageClassName ?? null,
      volumeName: previous.spec.volumeName ? (volumeName ?? '') : '',
      attributes: keep ? (volumeAttributesClassName ?? null) : null,
      resources: keep ? (resources ?? {}) : { ...resources, requests: {} },
    }
  }
  if (!sameJson(comparable(next, !bound), comparable(previous, !bound)))
    errors.push(forbidden('spec', immutableMessage))
  const size = (claim: KubeObject) => parseQuantity(String(requestsOf(claim).storage ?? '0'))
  const floor = previous.status?.capacity?.storage
  const shrinks = compareQuantities(size(next), size(previous)) < 0
  const mayShrink = floor && compareQuantities(size(next), parseQuantity(floor)) > 0
  if (bound && shrinks && !mayShrink)
    errors.push(
      forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'),
    )
  return errors
}

const warnings = ({ spec }: KubeObject): string[] => {
  const storage = spec?.resources?.requests?.storage
  if (storage === undefined || parseQuantity(String(storage)).nano % 1_000_000_000n === 0n)
    return []
  return [
    `spec.resources.requests[storage]: fractional byte value ${JSON.stringify(storage)} is invalid, must be an integer`,
  ]
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  strategy: {
    generation: 'none',
    default: ({ spec }) => {
      if (spec) spec.volumeMode ??= 'Filesystem'
    },
    prepareForCreate: (claim) => {
      claim.status = { phase: 'Pending' }
      normalizeDataSource(claim)
    },
    validate,
    warningsOnCreate: warnings,
    prepareForUpdate: (next, previous) => {
      next.status = previous.status
      normalizeDataSource(next, previous)
    },
    validateUpdate,
    warningsOnUpdate: warnings,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
})
