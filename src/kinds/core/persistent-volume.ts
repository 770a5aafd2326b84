import { formatTime } from '#api/clock.js'
import { index } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { storageClassAnnotation } from '#api/storage-class.js'
import { defineKind } from '#registry/resource-definition.js'
import { nodeTermWarnings } from '#validation/node-labels.js'
import {
  validatePersistentVolume,
  validatePersistentVolumeUpdate,
} from '#validation/persistent-volume.js'
import { roundResourceList } from '../pods/resource-lists.js'
import { keepStatus } from '../status.js'

const goneSince: Readonly<Record<string, string>> = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageOS: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}
const oldAnnotations: Readonly<Record<string, string>> = {
  [storageClassAnnotation]: 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options':
    'deprecated since v1.31; use "mountOptions" attribute instead',
}

const warnings = ({ metadata, spec = {} }: KubeObject): string[] => [
  ...Object.keys(oldAnnotations)
    .filter((key) => metadata.annotations?.[key] !== undefined)
    .map((key) => `metadata.annotations[${key}]: ${oldAnnotations[key]}`),
  ...(spec.persistentVolumeReclaimPolicy === 'Recycle'
    ? [
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      ]
    : []),
  ...((spec.nodeAffinity?.required?.nodeSelectorTerms ?? []) as Fields[]).flatMap((term, i) =>
    nodeTermWarnings(index('spec.nodeAffinity.required.nodeSelectorTerms', i), term, {
      areValuesChecked: false,
    }),
  ),
  ...Object.keys(goneSince)
    .filter((source) => spec[source === 'storageOS' ? 'storageos' : source] !== undefined)
    .map((source) => `spec.${source}: ${goneSince[source]}`),
]

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  strategy: {
    metadataRevalidation: 'placed',
    generation: 'none',
    default: ({ spec, status }) => {
      if (status) status.phase ||= 'Pending'
      if (!spec) return
      spec.persistentVolumeReclaimPolicy ||= 'Retain'
      spec.volumeMode ??= 'Filesystem'
      if (spec.hostPath) spec.hostPath.type ??= ''
      roundResourceList(spec.capacity)
    },
    prepareForCreate: (volume, { now }) => {
      volume.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) }
    },
    validate: validatePersistentVolume,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    prepareForUpdate: keepStatus,
    validateUpdate: (next, previous, _, metadata) =>
      validatePersistentVolumeUpdate(next, previous, metadata),
    status: {
      prepareForUpdate: (next, previous, { now }) => {
        next.spec = previous.spec
        const { status } = next
        const stored = previous.status ?? {}
        const time = 'lastPhaseTransitionTime'
        // A client may set the time of the change itself.
        const isTold = status[time] !== undefined && status[time] !== stored[time]
        if (isTold) return
        if (status.phase !== stored.phase) status[time] = formatTime(now)
        else if (stored[time] !== undefined) status[time] = stored[time]
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
