/** Sources of volumes, where they differ from those of pods (kubernetes, core/validation). */
import { child, type FieldError, invalid, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validDnsLabel, validDnsSubdomain, validNoBacksteps } from './formats.js'
import { externalSources, type SourceCheck, validCsiDriverName } from './pod/volume-sources.js'

type PersistentCheck = (path: string, source: Fields, volumeName: string) => FieldError[]

interface PersistentSource {
  check: PersistentCheck
  /** As upstream calls it when there is another source. */
  forbiddenName?: string
  /** False: it may stand beside others. */
  isExclusive?: boolean
}

const asInPods = (name: string): PersistentCheck => externalSources[name]!

const secretErrors = (path: string, secret: Fields | undefined): FieldError[] =>
  secret === undefined
    ? []
    : ['name', 'namespace']
        .filter((field) => !secret[field])
        .map((field) => required(child(path, field)))

/** Secrets of CSI drivers, whose names must be well formed, too. */
const namedSecretErrors = (path: string, secret: Fields | undefined): FieldError[] => {
  if (secret === undefined) return []
  const { name = '', namespace = '' } = secret
  const [nameAt, namespaceAt] = [child(path, 'name'), child(path, 'namespace')]
  return [
    ...(name === '' ? [required(nameAt)] : validDnsSubdomain(nameAt, name)),
    ...(namespace === '' ? [required(namespaceAt)] : validDnsLabel(namespaceAt, namespace)),
  ]
}

const portalLengthMax = 64

const iscsi: PersistentCheck = (path, source, volumeName) => {
  const { secretRef, initiatorName, targetPortal = '' } = source
  const [portalErrors, others] = [[] as FieldError[], [] as FieldError[]]
  for (const error of asInPods('iscsi')(path, source, volumeName))
    (error.field === child(path, 'targetPortal') ? portalErrors : others).push(
      // Pods are told more.
      {
        ...error,
        body: error.body.replace(' starting with iqn, eui, or naa', ''),
      },
    )
  const portal = Buffer.byteLength(`${volumeName}:${targetPortal}`)
  if (initiatorName !== undefined && portal > portalLengthMax)
    portalErrors.push(
      invalid(
        child(path, 'targetportal'),
        targetPortal,
        'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
      ),
    )
  const initiatorAt = child(path, 'initiatorname')
  const nameMissing =
    secretRef !== undefined && !secretRef.name ? [required(child(path, 'secretRef', 'name'))] : []
  return [
    ...portalErrors,
    ...others.filter(({ field }) => field !== initiatorAt),
    ...nameMissing,
    ...others.filter(({ field }) => field === initiatorAt),
  ]
}

const glusterfs: PersistentCheck = (path, source, volumeName) => {
  const { endpointsNamespace: namespace } = source
  const at = child(path, 'endpointsNamespace')
  const errors = asInPods('glusterfs')(path, source, volumeName)
  if (namespace === undefined) return errors
  return [
    ...errors,
    ...(namespace === ''
      ? [
          invalid(
            at,
            namespace,
            'if the endpointnamespace is set, it must be a valid namespace name',
          ),
        ]
      : validDnsLabel(at, namespace)),
  ]
}

const cinder: PersistentCheck = (path, { volumeID, secretRef }) => [
  ...(volumeID ? [] : [required(child(path, 'volumeID'))]),
  ...secretErrors(child(path, 'secretRef'), secretRef),
]

const azureFile: PersistentCheck = (path, source, volumeName) => [
  ...asInPods('azureFile')(path, source, volumeName),
  ...(source.secretNamespace === '' ? [required(child(path, 'secretNamespace'))] : []),
]

const storageOs: PersistentCheck = (path, { secretRef, ...source }, volumeName) => [
  ...asInPods('storageos')(path, source, volumeName),
  ...secretErrors(child(path, 'secretRef'), secretRef),
]

const local: SourceCheck = (path, { path: target = '' }) =>
  target === '' ? [required(child(path, 'path'))] : validNoBacksteps(child(path, 'path'), target)

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
]
const csi: PersistentCheck = (path, source) => [
  ...validCsiDriverName(child(path, 'driver'), source.driver ?? ''),
  ...(source.volumeHandle ? [] : [required(child(path, 'volumeHandle'))]),
  ...csiSecrets.flatMap((field) => namedSecretErrors(child(path, field), source[field])),
]

/** In the order in which upstream looks for them. */
export const persistentSources: Readonly<Record<string, PersistentSource>> = {
  hostPath: { check: asInPods('hostPath') },
  gcePersistentDisk: { check: asInPods('gcePersistentDisk') },
  awsElasticBlockStore: { check: asInPods('awsElasticBlockStore') },
  glusterfs: { check: glusterfs },
  flocker: { check: asInPods('flocker') },
  nfs: { check: asInPods('nfs') },
  rbd: { check: asInPods('rbd') },
  quobyte: { check: asInPods('quobyte') },
  cephfs: { check: asInPods('cephfs'), forbiddenName: 'cephFS' },
  iscsi: { check: iscsi },
  cinder: { check: cinder },
  fc: { check: asInPods('fc') },
  flexVolume: { check: asInPods('flexVolume'), isExclusive: false },
  azureFile: { check: azureFile },
  vsphereVolume: { check: asInPods('vsphereVolume') },
  photonPersistentDisk: { check: asInPods('photonPersistentDisk') },
  portworxVolume: { check: asInPods('portworxVolume') },
  azureDisk: { check: asInPods('azureDisk') },
  scaleIO: { check: asInPods('scaleIO') },
  local: { check: local },
  storageos: { check: storageOs },
  csi: { check: csi },
}
