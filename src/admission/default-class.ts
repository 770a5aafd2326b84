/** The classes that claims and ingresses get when they name none (plugin/pkg/admission/{storage,network}). */

import { isDefaultIngressClass, isDefaultStorageClass, newestDefault } from '#api/default-class.js'
import { namedStorageClass } from '#api/storage-class.js'
import { type AdmissionPlugin, isAbout, listObjects } from './plugin.js'

export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  resources: ['persistentvolumeclaims'],
  mutate: async (attributes) => {
    const claims = {
      group: '',
      resource: 'persistentvolumeclaims',
      operations: ['CREATE'] as const,
    }
    if (!isAbout(attributes, claims)) return
    const claim = attributes.object
    if (namedStorageClass(claim) !== undefined) return
    const classes = await listObjects(attributes.ctx, {
      group: 'storage.k8s.io',
      resource: 'storageclasses',
    })
    const found = newestDefault(classes, isDefaultStorageClass)
    if (found === undefined) return
    claim.spec ??= {}
    claim.spec.storageClassName = found.metadata.name
  },
}

export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  resources: ['ingresses'],
  mutate: async (attributes) => {
    const group = 'networking.k8s.io'
    if (!isAbout(attributes, { group, resource: 'ingresses', operations: ['CREATE'] })) return
    const ingress = attributes.object
    const named =
      ingress.spec?.ingressClassName !== undefined ||
      ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined
    if (named) return
    const classes = await listObjects(attributes.ctx, { group, resource: 'ingressclasses' })
    const found = newestDefault(classes, isDefaultIngressClass)
    if (found === undefined) return
    ingress.spec ??= {}
    ingress.spec.ingressClassName = found.metadata.name
  },
}
