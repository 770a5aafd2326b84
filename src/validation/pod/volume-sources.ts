/** Volumes from elsewhere: disks and shares of clouds and networks (kubernetes, core/validation). */
import { each } from '#api/each.js'
import { child, type FieldError, index, invalid, notSupported, required } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import {
  inRange,
  validDnsLabel,
  validDnsSubdomain,
  validLength,
  validNoBacksteps,
  validRelativePath,
} from '../formats.js'

export type SourceCheck = (path: string, source: Fields) => FieldError[]

/** Each of the fields must be given. */
const needs =
  (...fields: string[]): SourceCheck =>
  (path, source) =>
    fields.flatMap((field) => {
      const value = source[field]
      const isMissing = value === undefined || value === null || value === '' || value.length === 0
      return isMissing ? [required(child(path, field))] : []
    })

const all =
  (...checks: SourceCheck[]): SourceCheck =>
  (path, source) =>
    checks.flatMap((check) => check(path, source))

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

const validHostPath: SourceCheck = (path, { path: target = '', type }) => {
  if (target === '') return [required(child(path, 'path'))]
  return [
    ...validNoBacksteps(child(path, 'path'), target),
    ...(type === undefined || hostPathTypes.includes(type)
      ? []
      : [notSupported(child(path, 'type'), type, hostPathTypes)]),
  ]
}

const partition: SourceCheck = (path, source) =>
  (source.partition ?? 0) < 0 || source.partition > 255
    ? [invalid(child(path, 'partition'), source.partition, inRange(1, 255))]
    : []

/** Upstream looks for `iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$` anywhere; V8 would begin anew at each `iqn`. */
const hasIqn = (name: string): boolean => {
  const last = name.split(/[,;*&$|\t\n\f\r ]/).pop()!
  return [...last.matchAll(/iqn\.\d{4}-\d{2}\.[A-Za-z0-9-.]+/g)].some(({ index, 0: found }) => {
    const end = index + found.length
    return last[end] === ':' && end + 1 < last.length
  })
}
const eui = /^eui[^\n][A-Za-z0-9]{16}$/u
const naa = /^naa[^\n][A-Za-z0-9]{32}$/u
const hasForm = (name: string): boolean => {
  if (name.startsWith('iqn')) return hasIqn(name)
  return name.startsWith('eui') ? eui.test(name) : naa.test(name)
}

const iscsiName = (path: string, name: string): FieldError[] => {
  if (!/^(iqn|eui|naa)/.test(name))
    return [invalid(path, name, 'must be valid format starting with iqn, eui, or naa')]
  return hasForm(name) ? [] : [invalid(path, name, 'must be valid format')]
}

const iscsi: SourceCheck = (path, source) => {
  const errors = needs('targetPortal')(path, source)
  errors.push(
    ...(source.iqn ? iscsiName(child(path, 'iqn'), source.iqn) : [required(child(path, 'iqn'))]),
  )
  if (source.lun < 0 || source.lun > 255)
    errors.push(invalid(child(path, 'lun'), source.lun, inRange(0, 255)))
  if ((source.chapAuthDiscovery || source.chapAuthSession) && source.secretRef === undefined)
    errors.push(required(child(path, 'secretRef')))
  if (source.initiatorName !== undefined)
    errors.push(...iscsiName(child(path, 'initiatorname'), source.initiatorName))
  return errors
}

const fibreChannel: SourceCheck = (path, { targetWWNs = [], wwids = [], lun }) => {
  const at = child(path, 'targetWWNs')
  const errors: FieldError[] = []
  if (targetWWNs.length === 0 && wwids.length === 0)
    errors.push(required(at, 'must specify either targetWWNs or wwids, but not both'))
  if (targetWWNs.length > 0 && wwids.length > 0)
    errors.push(invalid(at, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'))
  if (targetWWNs.length > 0 && lun === undefined)
    errors.push(required(child(path, 'lun'), 'lun is required if targetWWNs is specified'))
  else if (targetWWNs.length > 0 && (lun < 0 || lun > 255))
    errors.push(invalid(child(path, 'lun'), lun, inRange(0, 255)))
  return errors
}

const nfs: SourceCheck = (path, source) => [
  ...needs('server', 'path')(path, source),
  ...((source.path ?? '').startsWith('/')
    ? []
    : [invalid(child(path, 'path'), source.path ?? '', 'must be an absolute path')]),
]

const registryMessage = 'must be a host:port pair or multiple pairs separated by commas'

const quobyte: SourceCheck = (path, source) => {
  const { registry = '', tenant = '' } = source
  const errors: FieldError[] = []
  if (registry === '') errors.push(required(child(path, 'registry'), registryMessage))
  else if (Buffer.byteLength(tenant) >= 65)
    errors.push(
      required(
        child(path, 'tenant'),
        'must be a UUID and may not exceed a length of 64 characters',
      ),
    )
  else {
    const pairs: string[] = registry.split(',')
    const isPair = (pair: string): boolean => /^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)
    const check = (): FieldError[] => [invalid(child(path, 'registry'), registry, registryMessage)]
    pushAll(errors, each(path, pairs, check, isPair))
  }
  return [...errors, ...needs('volume')(path, source)]
}

const flocker: SourceCheck = (path, { datasetName = '', datasetUUID = '' }) => {
  const errors: FieldError[] = []
  if (datasetName === '' && datasetUUID === '')
    errors.push(required(path, 'one of datasetName and datasetUUID is required'))
  if (datasetName !== '' && datasetUUID !== '')
    errors.push(
      invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'),
    )
  if (datasetName.includes('/'))
    errors.push(invalid(child(path, 'datasetName'), datasetName, "must not contain '/'"))
  return errors
}

const secretName: SourceCheck = (path, { secretRef }) =>
  secretRef !== undefined && !secretRef.name ? [required(child(path, 'secretRef', 'name'))] : []

const flexVolume: SourceCheck = (path, source) => [
  ...needs('driver')(path, source),
  ...Object.keys(source.options ?? {})
    .filter((key) => /\.(kubernetes|k8s)\.io$/.test(`.${key.split('/')[0]!.toLowerCase()}`))
    .map((key) =>
      invalid(
        index(child(path, 'options'), key),
        key,
        'kubernetes.io and k8s.io namespaces are reserved',
      ),
    ),
]

const cachingModes = ['None', 'ReadOnly', 'ReadWrite']
const diskKinds = ['Dedicated', 'Managed', 'Shared']
const managedUri =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const blobUri = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

const azureDisk: SourceCheck = (path, source) => {
  const errors = needs('diskName', 'diskURI')(path, source)
  const { cachingMode, kind, diskURI = '' } = source
  if (cachingMode !== undefined && !cachingModes.includes(cachingMode))
    errors.push(notSupported(child(path, 'cachingMode'), cachingMode, cachingModes))
  if (kind !== undefined && !diskKinds.includes(kind))
    errors.push(notSupported(child(path, 'kind'), kind, diskKinds))
  const isManaged = kind === 'Managed'
  if (isManaged && !diskURI.startsWith('/subscriptions/'))
    errors.push(notSupported(child(path, 'diskURI'), diskURI, [managedUri]))
  if (kind !== undefined && !isManaged && !diskURI.startsWith('https://'))
    errors.push(notSupported(child(path, 'diskURI'), diskURI, [blobUri]))
  return errors
}

const storageOs: SourceCheck = (path, source) => {
  const { volumeName = '', volumeNamespace = '' } = source
  return [
    ...(volumeName === ''
      ? [required(child(path, 'volumeName'))]
      : validDnsLabel(child(path, 'volumeName'), volumeName)),
    ...(volumeNamespace === ''
      ? []
      : validDnsLabel(child(path, 'volumeNamespace'), volumeNamespace)),
    ...secretName(path, source),
  ]
}

export const validCsiDriverName = (path: string, name: string): FieldError[] => [
  ...(name === '' ? [required(path)] : []),
  ...validLength(path, name, 63),
  ...(name === ''
    ? []
    : isDns1123Subdomain(name.toLowerCase()).map((message) => invalid(path, name, message))),
]

const csi: SourceCheck = (path, { driver = '', nodePublishSecretRef }) => {
  const errors = validCsiDriverName(child(path, 'driver'), driver)
  if (nodePublishSecretRef === undefined) return errors
  const name: string = nodePublishSecretRef.name ?? ''
  return [
    ...errors,
    ...(name === ''
      ? [required(child(path, 'nodePublishSecretRef', 'name'))]
      : validDnsSubdomain(child(path, 'name'), name)),
  ]
}

const gitRepo: SourceCheck = (path, source) => [
  ...needs('repository')(path, source),
  ...validRelativePath(child(path, 'directory'), source.directory ?? ''),
]

/** In upstream's order; volumes that are files are in volume-files.ts. */
export const externalSources: Readonly<Record<string, SourceCheck>> = {
  hostPath: validHostPath,
  gitRepo,
  gcePersistentDisk: (path, source) =>
    all(needs('pdName'), partition)(path.replace(/gcePersistentDisk$/, 'persistentDisk'), source),
  awsElasticBlockStore: all(needs('volumeID'), partition),
  nfs,
  iscsi,
  glusterfs: needs('endpoints', 'path'),
  flocker,
  persistentVolumeClaim: needs('claimName'),
  rbd: needs('monitors', 'image'),
  cinder: all(needs('volumeID'), secretName),
  cephfs: needs('monitors'),
  quobyte,
  fc: fibreChannel,
  flexVolume,
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk,
  storageos: storageOs,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi,
}
