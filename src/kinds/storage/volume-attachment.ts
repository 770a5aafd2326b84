import { type FieldError, forbidden, invalid, required } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutable } from '#validation/immutable.js'
import { ownStatus } from '../status.js'
import { driverNameErrors } from './csi-node.js'

const named = (path: string, name: string): FieldError[] =>
  isDns1123Subdomain(name).map((m) => invalid(path, name, m))

const sourceErrors = (source: KubeObject['spec'] = {}): FieldError[] => {
  const text = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  const inline = source.inlineVolumeSpec !== undefined
  const byName = source.persistentVolumeName !== undefined
  if (inline && byName) return [forbidden('spec.source', text)]
  if (inline || byName) return []
  return [required('spec.source', text)]
}

const validate = ({ spec }: KubeObject): FieldError[] => {
  const volume = spec.source?.persistentVolumeName
  return [
    ...driverNameErrors('spec.attacher', spec.attacher ?? ''),
    ...sourceErrors(spec.source),
    ...named('spec.nodeName', spec.nodeName ?? ''),
    ...(volume === undefined ? [] : named('spec.source.persistentVolumeName', volume)),
  ]
}

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  strategy: {
    generation: 'none',
    ...ownStatus('io.k8s.api.storage.v1.VolumeAttachmentStatus'),
    validate,
    validateUpdate: (next, previous) => [
      ...validate(next),
      ...immutable('spec', next.spec, previous.spec, 'storage.v1.VolumeAttachmentSpec'),
    ],
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { attacher: 'example.com', nodeName: 'node', source: { persistentVolumeName: 'volume' } },
  },
})
