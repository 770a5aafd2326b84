/** Volumes and claims in use are not deleted; claims grow only where their class lets them. */

import { protectionFinalizers } from '#api/protection-finalizers.js'
import { compareQuantities, parseQuantity } from '#api/quantity.js'
import { namedStorageClass } from '#api/storage-class.js'
import { type AdmissionPlugin, findObject, isAbout, refuse } from './plugin.js'

const finalizers: Readonly<Record<string, string>> = {
  '/persistentvolumes': protectionFinalizers.volume,
  '/persistentvolumeclaims': protectionFinalizers.claim,
  'storage.k8s.io/volumeattributesclasses': protectionFinalizers.attributesClass,
}

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  resources: ['persistentvolumes', 'persistentvolumeclaims', 'volumeattributesclasses'],
  mutate: (attributes) => {
    const { resource } = attributes
    const finalizer = finalizers[`${resource.group}/${resource.resource}`]
    if (finalizer === undefined || !isAbout(attributes, { ...resource, operations: ['CREATE'] }))
      return
    const { metadata } = attributes.object
    if (metadata.finalizers?.includes(finalizer)) return
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer]
  },
}

export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  resources: ['persistentvolumeclaims'],
  validate: async (attributes) => {
    const claims = {
      group: '',
      resource: 'persistentvolumeclaims',
      operations: ['UPDATE'] as const,
    }
    if (!isAbout(attributes, claims)) return
    const [next, previous] = [attributes.object, attributes.oldObject]
    const size = (spec: typeof next.spec) =>
      parseQuantity(String(spec?.resources?.requests?.storage ?? '0'))
    if (compareQuantities(size(next.spec), size(previous.spec)) <= 0) return
    if (previous.status?.phase !== 'Bound')
      throw refuse(attributes, 'Only bound persistent volume claims can be expanded')
    const name = namedStorageClass(next) ?? ''
    const storageClass =
      name === ''
        ? undefined
        : await findObject(
            attributes.ctx,
            { group: 'storage.k8s.io', resource: 'storageclasses' },
            { name },
          )
    if (storageClass?.allowVolumeExpansion !== true)
      throw refuse(
        attributes,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      )
  },
}
