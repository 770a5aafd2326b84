import { type FieldError, forbidden, invalid, required, tooLong } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { inRange, int32Max, validDnsSubdomain } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { validInlineVolume } from '#validation/persistent-volume.js'
import { onlyStatusChanges, ownStatus } from '../status.js'
import { driverNameErrors } from './csi-node.js'

const sourceErrors = (source: KubeObject['spec'] = {}): FieldError[] => {
  const text = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  const inline = source.inlineVolumeSpec !== undefined
  const byName = source.persistentVolumeName !== undefined
  if (inline && byName) return [forbidden('spec.source', text)]
  if (inline) return validInlineVolume('spec.source.inlineVolumeSpec', source.inlineVolumeSpec)
  if (source.persistentVolumeName === '')
    return [
      required('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName'),
    ]
  if (byName) return []
  return [required('spec.source', text)]
}

const validate = ({ spec, status }: KubeObject): FieldError[] => {
  const volume = spec.source?.persistentVolumeName
  return [
    ...driverNameErrors('spec.attacher', spec.attacher ?? ''),
    ...sourceErrors(spec.source),
    ...validDnsSubdomain('spec.nodeName', spec.nodeName ?? ''),
    ...statusErrors(status),
    ...(volume === undefined ? [] : validDnsSubdomain('spec.source.persistentVolumeName', volume)),
  ]
}

const metadataBytesMax = 256 * 1024
const messageBytesMax = 1024

const volumeErrorErrors = (error: KubeObject['spec'], path: string): FieldError[] => [
  ...(Buffer.byteLength(error?.message ?? '') > messageBytesMax
    ? [tooLong(`${path}.message`, metadataBytesMax)]
    : []),
  ...((error?.errorCode ?? 0) < 0
    ? [invalid(`${path}.errorCode`, error.errorCode, inRange(0, int32Max))]
    : []),
]

const statusErrors = (status: KubeObject['spec']): FieldError[] => {
  const metadata: Record<string, string> = status?.attachmentMetadata ?? {}
  const size = Object.entries(metadata).flat().join('')
  return [
    ...(Buffer.byteLength(size) > metadataBytesMax
      ? [tooLong('status.attachmentMetadata', metadataBytesMax)]
      : []),
    ...volumeErrorErrors(status?.attachError, 'status.attachError'),
    ...volumeErrorErrors(status?.detachError, 'status.detachError'),
  ]
}

const validateUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...validate(next),
  ...immutable('spec', next.spec, previous.spec, 'storage.v1.VolumeAttachmentSpec'),
]

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  strategy: {
    statusMetadataRevalidation: 'none',
    metadataRevalidation: 'create',
    generation: 'none',
    default: ({ spec }) => {
      const inline = spec?.source?.inlineVolumeSpec
      if (inline?.hostPath) inline.hostPath.type ??= ''
    },
    ...ownStatus('io.k8s.api.storage.v1.VolumeAttachmentStatus'),
    validate,
    validateUpdate,
    status: { prepareForUpdate: onlyStatusChanges, validateUpdate },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { attacher: 'example.com', nodeName: 'node', source: { persistentVolumeName: 'volume' } },
  },
})
