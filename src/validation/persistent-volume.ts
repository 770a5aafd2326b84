/** Volumes, alone and inline in attachments (kubernetes, core/validation: ValidatePersistentVolumeSpec). */

import { posix } from 'node:path'
import { eachEntry } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { int64Value, parseQuantity } from '#api/quantity.js'
import { givenEmpty } from '#json/given-empty.js'
import type { MetadataChecks } from '#registry/resource-definition.js'
import { validDnsSubdomain } from './formats.js'
import { immutable, sameJson } from './immutable.js'
import { internalForm } from './internal-form.js'
import { persistentSources } from './persistent-volume-sources.js'
import { validNodeSelector } from './pod/affinity.js'
import { validAccessModes, validVolumeMode } from './pod/claim-spec.js'
import { unifiedDiff } from './unified-diff.js'

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']
const inInline = 'may not be specified in the context of inline volumes'

const inlineErrors = (path: string, spec: Fields): FieldError[] => [
  ...(spec.claimRef ? [forbidden(child(path, 'claimRef'), inInline)] : []),
  ...(Object.keys(spec.capacity ?? {}).length > 0
    ? [forbidden(child(path, 'capacity'), inInline)]
    : []),
  ...(spec.csi
    ? []
    : [required(child(path, 'csi'), 'has to be specified in the context of inline volumes')]),
]

const capacityErrors = (path: string, spec: Fields) => {
  const capacity: Record<string, string> | undefined = spec.capacity
  const names = Object.keys(capacity ?? {}).sort()
  const errors: FieldError[] = names.length === 0 ? [required(path)] : []
  if (names.length !== 1 || names[0] !== 'storage') {
    const sorted = Object.fromEntries(names.map((name) => [name, capacity?.[name]]))
    const none = givenEmpty(spec, 'capacity')
    errors.push(notSupported(path, names.length === 0 ? none : sorted, ['storage']))
  }
  return [
    ...errors,
    ...eachEntry(path, capacity, (_name, text, at) => {
      const quantity = parseQuantity(text)
      const value = int64Value(quantity)
      return [
        ...(value < 0n ? [invalid(at, value, 'must be a valid resource quantity')] : []),
        ...(quantity.nano <= 0n ? [invalid(at, text, 'must be greater than zero')] : []),
      ]
    }),
  ]
}

const policyErrors = (path: string, policy: string, isInline: boolean): FieldError[] => {
  if (policy === '') return []
  if (isInline)
    return policy === 'Retain'
      ? []
      : [forbidden(path, 'may only be Retain in the context of inline volumes')]
  return reclaimPolicies.includes(policy) ? [] : [notSupported(path, policy, reclaimPolicies)]
}

const affinityErrors = (path: string, affinity: Fields | undefined, isInline: boolean) => {
  if (affinity === undefined) return []
  if (isInline) return [forbidden(path, inInline)]
  const at = child(path, 'required')
  return affinity.required === undefined
    ? [required(at, 'must specify required node constraints')]
    : validNodeSelector(at, affinity.required)
}

const sourceErrors = (path: string, spec: Fields, name: string): FieldError[] => {
  const present = Object.keys(persistentSources).filter((source) => spec[source])
  if (present.length === 0) return [required(path, 'must specify a volume type')]
  return present.flatMap((source, i) => {
    const { check, forbiddenName = source, isExclusive = true } = persistentSources[source]!
    if (i > 0 && isExclusive)
      return [forbidden(child(path, forbiddenName), 'may not specify more than 1 volume type')]
    const errors = check(child(path, source), spec[source], name)
    const needsAffinity = source === 'local' && (spec.nodeAffinity === undefined || name === '')
    return needsAffinity
      ? [...errors, required(child(path, 'nodeAffinity'), 'Local volume requires node affinity')]
      : errors
  })
}

const modeErrors = (path: string, mode: string | undefined, isInline: boolean): FieldError[] => {
  if (!isInline) return validVolumeMode(path, mode)
  return mode === undefined || mode === 'Filesystem'
    ? []
    : [
        forbidden(
          path,
          'may not specify volumeMode other than Filesystem in the context of inline volumes',
        ),
      ]
}

const classErrors = (path: string, name: string, isInline: boolean): FieldError[] => {
  if (name === '') return []
  return isInline ? [forbidden(path, inInline)] : validDnsSubdomain(path, name)
}

const attributesErrors = (path: string, spec: Fields): FieldError[] => {
  const { volumeAttributesClassName: name } = spec
  if (name === undefined) return []
  const at = child(path, 'volumeAttributesClassName')
  return [
    ...(name === ''
      ? [required(at, 'an empty string is disallowed')]
      : validDnsSubdomain(at, name)),
    ...(spec.csi
      ? []
      : [required(child(path, 'csi'), 'has to be specified when using volumeAttributesClassName')]),
  ]
}

/** `name` is the volume's; inline volumes have none, and no attributes class is looked at. */
const specErrors = (path: string, spec: Fields, name: string): FieldError[] => {
  const at = (field: string): string => child(path, field)
  const isInline = name === ''
  const modes: string[] = spec.accessModes ?? []
  const policy: string = spec.persistentVolumeReclaimPolicy ?? ''
  const isRoot = posix.normalize(spec.hostPath?.path ?? '') === '/'
  return [
    ...(isInline ? inlineErrors(path, spec) : []),
    ...(modes.length === 0 ? [required(at('accessModes'))] : []),
    ...validAccessModes(at('accessModes'), modes),
    ...(isInline ? [] : capacityErrors(at('capacity'), spec)),
    ...policyErrors(at('persistentVolumeReclaimPolicy'), policy, isInline),
    ...affinityErrors(at('nodeAffinity'), spec.nodeAffinity, isInline),
    ...sourceErrors(path, spec, name),
    ...(isRoot && policy === 'Recycle'
      ? [
          forbidden(
            at('persistentVolumeReclaimPolicy'),
            "may not be 'recycle' for a hostPath mount of '/'",
          ),
        ]
      : []),
    ...classErrors(at('storageClassName'), spec.storageClassName ?? '', isInline),
    ...modeErrors(at('volumeMode'), spec.volumeMode, isInline),
    ...(isInline ? [] : attributesErrors(path, spec)),
  ]
}

export const validInlineVolume = (path: string, spec: Fields): FieldError[] =>
  specErrors(path, spec, '')

const withMountOptions =
  'gcePersistentDisk awsElasticBlockStore glusterfs nfs rbd quobyte iscsi cinder cephfs azureFile vsphereVolume azureDisk photonPersistentDisk'.split(
    ' ',
  )
const mountAnnotation = 'volume.beta.kubernetes.io/mount-options'

const mountErrors = ({ metadata, spec = {} }: KubeObject): FieldError[] =>
  metadata.annotations?.[mountAnnotation] === undefined ||
  withMountOptions.some((source) => spec[source])
    ? []
    : [
        forbidden(
          `metadata.annotations.${mountAnnotation}`,
          'may not specify mount options for this volume type',
        ),
      ]

const volumeErrors = ({ metadata, spec = {} }: KubeObject): FieldError[] =>
  specErrors('spec', spec, metadata.name ?? 'volume')

export const validatePersistentVolume = (volume: KubeObject): FieldError[] => [
  ...volumeErrors(volume),
  ...mountErrors(volume),
]

const sourcePart = (spec: Fields): Fields =>
  Object.fromEntries(
    Object.keys(persistentSources).flatMap((name) =>
      spec[name] === undefined ? [] : [[name, spec[name]]],
    ),
  )

/** The secret for expansion may be set once. */
const withoutNewExpandSecret = (spec: Fields, previous: Fields): Fields => {
  const { controllerExpandSecretRef: given, ...csi } = spec.csi ?? {}
  return previous.csi !== undefined &&
    previous.csi.controllerExpandSecretRef === undefined &&
    given !== undefined
    ? { ...spec, csi }
    : spec
}

const affinityLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
}

/** Old labels of nodes may become the new ones. */
const affinityChange = (next: Fields | undefined, previous: Fields | undefined): FieldError[] => {
  if (previous === undefined) return []
  const renamed = structuredClone(previous)
  const terms: Fields[] = renamed.required?.nodeSelectorTerms ?? []
  const given: Fields[] = next?.required?.nodeSelectorTerms ?? []
  // To upstream no key at all is what any other label has become.
  for (const [i, term] of terms.entries())
    for (const [j, expression] of ((term.matchExpressions ?? []) as Fields[]).entries())
      if ((affinityLabels[expression.key] ?? '') === given[i]?.matchExpressions?.[j]?.key)
        expression.key = given[i]!.matchExpressions[j].key
  return sameJson(next, renamed)
    ? []
    : [
        invalid(
          'nodeAffinity',
          next === undefined ? null : internalForm('core.v1.VolumeNodeAffinity', next),
          'field is immutable, except for updating from beta label to GA',
        ),
      ]
}

export const validatePersistentVolumeUpdate = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => {
  // Upstream reports everything about the volume itself twice.
  const errors = [
    ...metadata.create(),
    ...validatePersistentVolume(next),
    ...metadata.create(),
    ...volumeErrors(next),
  ]
  const stored = sourcePart(previous.spec)
  const given = sourcePart(withoutNewExpandSecret(next.spec, previous.spec))
  if (!sameJson(given, stored)) {
    const printed = (source: Fields): Fields =>
      Object.fromEntries(
        Object.entries(internalForm('core.v1.PersistentVolumeSpec', source)).slice(...sourceFields),
      )
    errors.push(
      forbidden(
        'spec.persistentvolumesource',
        `spec.persistentvolumesource is immutable after creation\n${unifiedDiff(printed(stored), printed(given))}`,
      ),
    )
  }
  const { volumeMode, volumeAttributesClassName } = next.spec
  return [
    ...errors,
    ...immutable('volumeMode', volumeMode, previous.spec.volumeMode).map(shownAsJson),
    ...affinityChange(next.spec.nodeAffinity, previous.spec.nodeAffinity),
    ...(previous.spec.volumeAttributesClassName !== undefined &&
    volumeAttributesClassName === undefined
      ? [
          forbidden(
            'spec.volumeAttributesClassName',
            'update from non-nil value to nil is forbidden',
          ),
        ]
      : []),
  ]
}

/** The sources stand between the capacity and the access modes. */
const sourceFields = [1, 1 + Object.keys(persistentSources).length] as const
