/** Claims of storage, alone and in templates (kubernetes, core/validation: ValidatePersistentVolumeClaimSpec). */
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  oneOf,
  required,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import { type Fields, metadataFields } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import { isGiven } from '#json/given-empty.js'
import { validDnsLabel, validDnsSubdomain } from '../formats.js'
import { validLabelSelector, validLabels } from '../label-selector.js'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']

export const validAccessModes = (path: string, modes: readonly string[]): FieldError[] => {
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(path, mode, accessModes))
  const known = modes.filter((mode) => accessModes.includes(mode))
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'))
  return errors
}

const storageErrors = (path: string, storage: string | undefined): FieldError[] => {
  if (storage === undefined) return [required(path)]
  return parseQuantity(storage).nano > 0n
    ? []
    : [invalid(path, storage, 'must be greater than zero')]
}

const sourceErrors = (path: string, source: Fields | undefined): FieldError[] => {
  if (source === undefined) return []
  const errors: FieldError[] = []
  if (!source.name) errors.push(required(child(path, 'name')))
  if (!source.kind) errors.push(required(child(path, 'kind')))
  const apiGroup: string = source.apiGroup ?? ''
  if (apiGroup === '' && source.kind !== 'PersistentVolumeClaim')
    errors.push(
      invalid(
        path,
        source.kind ?? '',
        "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      ),
    )
  if (apiGroup !== '') errors.push(...validDnsSubdomain(child(path, 'apiGroup'), apiGroup))
  if (source.namespace) errors.push(...validDnsLabel(child(path, 'namespace'), source.namespace))
  return errors
}

const sameSource = (one: Fields, other: Fields): boolean =>
  (one.apiGroup ?? null) === (other.apiGroup ?? null) &&
  (one.kind ?? '') === (other.kind ?? '') &&
  (one.name ?? '') === (other.name ?? '')

/** Upstream prints the path as the value here: a struct without exported fields. */
const sourcesErrors = (path: string, { dataSource, dataSourceRef }: Fields): FieldError[] => {
  if (dataSource === undefined || dataSourceRef === undefined) return []
  if (dataSourceRef.namespace)
    return [invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified')]
  return sameSource(dataSource, dataSourceRef)
    ? []
    : [invalid(path, {}, 'must match dataSourceRef')]
}

export const validVolumeMode = (path: string, mode: string | undefined): FieldError[] =>
  oneOf(path, mode, volumeModes)

export const validClaimSpec = (path: string, spec: Fields): FieldError[] => {
  const modes: string[] = spec.accessModes ?? []
  const { storageClassName, volumeMode, volumeAttributesClassName } = spec
  return [
    ...(modes.length === 0
      ? [required(child(path, 'accessModes'), 'at least 1 access mode is required')]
      : []),
    ...(spec.selector ? validLabelSelector(child(path, 'selector'), spec.selector) : []),
    ...validAccessModes(child(path, 'accessModes'), modes),
    ...storageErrors(index(child(path, 'resources'), 'storage'), spec.resources?.requests?.storage),
    ...(storageClassName
      ? validDnsSubdomain(child(path, 'storageClassName'), storageClassName)
      : []),
    ...validVolumeMode(child(path, 'volumeMode'), volumeMode),
    ...sourceErrors(child(path, 'dataSource'), spec.dataSource),
    ...sourceErrors(child(path, 'dataSourceRef'), spec.dataSourceRef),
    ...sourcesErrors(path, spec),
    ...(volumeAttributesClassName
      ? validDnsSubdomain(child(path, 'volumeAttributesClassName'), volumeAttributesClassName)
      : []),
  ]
}

/** The metadata of a template inside a pod: labels and annotations, nothing else. */
export const validClaimTemplateMeta = (path: string, metadata: Fields): FieldError[] => [
  ...Object.keys(metadata.annotations ?? {}).flatMap((key) =>
    isQualifiedName(key.toLowerCase()).map((m) => invalid(child(path, 'annotations'), key, m)),
  ),
  ...validLabels(child(path, 'labels'), metadata.labels),
  ...metadataFields
    .filter((key) => key !== 'annotations' && key !== 'labels' && isGiven(metadata, key))
    // The name in Go, with its first letter made small.
    .map((key) => forbidden(child(path, key === 'uid' ? 'uID' : key), 'cannot be set')),
]
