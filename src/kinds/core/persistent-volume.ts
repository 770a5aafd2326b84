import { formatTime } from '#api/clock.js'
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { validLabelName } from '#validation/label-selector.js'
import { keepStatus } from '../status.js'
import { validAccessModes, validVolumeMode } from './volume-modes.js'

// biome-ignore lint/suspicious/noExplicitAny: volume sources differ in every field
type Source = Record<string, any>

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']
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

const noBacksteps = (path: string, value: string): FieldError[] =>
  value.split('/').includes('..') ? [invalid(path, value, "must not contain '..'")] : []
const needed = (path: string, source: Source, ...fields: string[]): FieldError[] =>
  fields.filter((field) => !source[field]).map((field) => required(child(path, field)))

const secretErrors = (path: string, source: Source): FieldError[] =>
  Object.keys(source)
    .filter((field) => field.endsWith('SecretRef') && source[field])
    .flatMap((field) => needed(child(path, field), source[field], 'name', 'namespace'))

/** What each kind of volume must say; a kind without an entry is checked by its type alone. */
const sourceChecks: Readonly<Record<string, (source: Source, path: string) => FieldError[]>> = {
  hostPath: (source, path) => [
    ...(source.path ? noBacksteps(child(path, 'path'), source.path) : needed(path, source, 'path')),
    ...(source.type === undefined || hostPathTypes.includes(source.type)
      ? []
      : [notSupported(child(path, 'type'), source.type, hostPathTypes)]),
  ],
  nfs: (source, path) => [
    ...needed(path, source, 'server', 'path'),
    ...(source.path && !source.path.startsWith('/')
      ? [invalid(child(path, 'path'), source.path, 'must be an absolute path')]
      : []),
  ],
  local: (source, path) =>
    source.path ? noBacksteps(child(path, 'path'), source.path) : needed(path, source, 'path'),
  csi: (source, path) => [
    ...(source.driver
      ? isDns1123Subdomain(source.driver.toLowerCase()).map((m) =>
          invalid(child(path, 'driver'), source.driver, m),
        )
      : [required(child(path, 'driver'))]),
    ...needed(path, source, 'volumeHandle'),
    ...secretErrors(path, source),
  ],
  iscsi: (source, path) => needed(path, source, 'targetPortal', 'iqn'),
  cephfs: (source, path) => needed(path, source, 'monitors'),
  rbd: (source, path) => needed(path, source, 'monitors', 'image'),
  gcePersistentDisk: (source, path) => needed(path, source, 'pdName'),
  awsElasticBlockStore: (source, path) => needed(path, source, 'volumeID'),
  cinder: (source, path) => needed(path, source, 'volumeID'),
  vsphereVolume: (source, path) => needed(path, source, 'volumePath'),
  glusterfs: (source, path) => needed(path, source, 'endpoints', 'path'),
  flexVolume: (source, path) => needed(path, source, 'driver'),
  azureDisk: (source, path) => needed(path, source, 'diskName', 'diskURI'),
  azureFile: (source, path) => needed(path, source, 'secretName', 'shareName'),
  fc: () => [],
  flocker: () => [],
  photonPersistentDisk: (source, path) => needed(path, source, 'pdID'),
  portworxVolume: (source, path) => needed(path, source, 'volumeID'),
  quobyte: (source, path) => needed(path, source, 'registry', 'volume'),
  scaleIO: (source, path) => needed(path, source, 'gateway', 'system', 'volumeName'),
  storageos: () => [],
}

const sourceErrors = (spec: Source): FieldError[] => {
  const present = Object.keys(sourceChecks).filter((name) => spec[name])
  if (present.length === 0) return [required('spec', 'must specify a volume type')]
  return present.flatMap((name, i) =>
    i === 0
      ? sourceChecks[name]!(spec[name], child('spec', name))
      : [forbidden(child('spec', name), 'may not specify more than 1 volume type')],
  )
}

const byName = (capacity: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(capacity).sort(([a], [b]) => (a < b ? -1 : 1)))

const capacityErrors = (capacity: Record<string, string> | undefined): FieldError[] => {
  const path = 'spec.capacity'
  const names = Object.keys(capacity ?? {})
  const errors: FieldError[] = names.length === 0 ? [required(path)] : []
  if (names.length !== 1 || names[0] !== 'storage')
    errors.push(notSupported(path, names.length === 0 ? null : byName(capacity!), ['storage']))
  const storage = capacity?.storage
  if (storage === undefined) return errors
  const at = index(path, 'storage')
  const { nano } = parseQuantity(storage)
  if (nano < 0n)
    errors.push(invalid(at, Number(nano / 1_000_000_000n), 'must be a valid resource quantity'))
  if (nano <= 0n) errors.push(invalid(at, storage, 'must be greater than zero'))
  return errors
}

interface NodeTerm {
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}
const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']

const affinityErrors = ({ nodeAffinity, local }: Source): FieldError[] => {
  const path = 'spec.nodeAffinity'
  if (!nodeAffinity) return local ? [required(path, 'Local volume requires node affinity')] : []
  const { required: terms } = nodeAffinity
  if (!terms) return [required(`${path}.required`, 'must specify required node constraints')]
  const at = `${path}.required.nodeSelectorTerms`
  const list: NodeTerm[] = terms.nodeSelectorTerms ?? []
  if (list.length === 0) return [required(at, 'must have at least one node selector term')]
  return list.flatMap((term, i) =>
    (term.matchExpressions ?? []).flatMap((expression, j) => {
      const here = index(child(index(at, i), 'matchExpressions'), j)
      return [
        ...(operators.includes(expression.operator)
          ? []
          : [
              invalid(
                child(here, 'operator'),
                expression.operator,
                'not a valid selector operator',
              ),
            ]),
        ...validLabelName(child(here, 'key'), expression.key),
      ]
    }),
  )
}

const classErrors = (spec: Source): FieldError[] => {
  const { volumeAttributesClassName: name } = spec
  if (name === undefined) return []
  const path = 'spec.volumeAttributesClassName'
  return [
    ...(name === ''
      ? [required(path, 'an empty string is disallowed')]
      : isDns1123Subdomain(name).map((m) => invalid(path, name, m))),
    ...(spec.csi
      ? []
      : [required('spec.csi', 'has to be specified when using volumeAttributesClassName')]),
  ]
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const policy: string = spec.persistentVolumeReclaimPolicy ?? ''
  const recyclesRoot = spec.hostPath?.path === '/' && policy === 'Recycle'
  const className: string = spec.storageClassName ?? ''
  return [
    ...((spec.accessModes ?? []).length === 0
      ? [required('spec.accessModes')]
      : validAccessModes('spec.accessModes', spec.accessModes)),
    ...capacityErrors(spec.capacity),
    ...(policy === '' || reclaimPolicies.includes(policy)
      ? []
      : [notSupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies)]),
    ...sourceErrors(spec),
    ...affinityErrors(spec),
    ...(recyclesRoot
      ? [
          forbidden(
            'spec.persistentVolumeReclaimPolicy',
            "may not be 'recycle' for a hostPath mount of '/'",
          ),
        ]
      : []),
    ...(className === ''
      ? []
      : isDns1123Subdomain(className).map((m) => invalid('spec.storageClassName', className, m))),
    ...validVolumeMode('spec.volumeMode', spec.volumeMode),
    ...classErrors(spec),
  ]
}

const validateUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const sourceOf = ({ spec = {} }: KubeObject): Source =>
    Object.fromEntries(Object.keys(sourceChecks).map((name) => [name, spec[name] ?? null]))
  const immutableSource = 'spec.persistentvolumesource is immutable after creation'
  return [
    ...validate(next),
    ...(sameJson(sourceOf(next), sourceOf(previous))
      ? []
      : [forbidden('spec.persistentvolumesource', immutableSource)]),
    ...(next.spec.volumeMode === previous.spec.volumeMode
      ? []
      : [invalid('volumeMode', next.spec.volumeMode ?? null, 'field is immutable')]),
  ]
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  strategy: {
    generation: 'none',
    default: ({ spec }) => {
      if (!spec) return
      spec.persistentVolumeReclaimPolicy ||= 'Retain'
      spec.volumeMode ??= 'Filesystem'
      if (spec.hostPath) spec.hostPath.type ??= ''
    },
    prepareForCreate: (volume, { now }) => {
      volume.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) }
    },
    validate,
    prepareForUpdate: keepStatus,
    validateUpdate,
    status: {
      prepareForUpdate: (next, previous, { now }) => {
        if (next.status?.phase !== previous.status?.phase && next.status)
          next.status.lastPhaseTransitionTime = formatTime(now)
      },
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/sample' },
    },
  },
})
