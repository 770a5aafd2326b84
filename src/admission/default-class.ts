/** The classes that claims and ingresses get when they name none (plugin/pkg/admission/{storage,network}). */
import { type AdmissionPlugin, isAbout, listObjects, newestDefault } from './plugin.js'

const betaClass = 'volume.beta.kubernetes.io/storage-class'

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
    const claim = attributes.object!
    const named =
      claim.spec?.storageClassName !== undefined ||
      claim.metadata.annotations?.[betaClass] !== undefined
    if (named) return
    const classes = await listObjects(attributes.ctx, {
      group: 'storage.k8s.io',
      resource: 'storageclasses',
    })
    const found = newestDefault(classes, [
      'storageclass.kubernetes.io/is-default-class',
      'storageclass.beta.kubernetes.io/is-default-class',
    ])
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
    const ingress = attributes.object!
    const named =
      ingress.spec?.ingressClassName !== undefined ||
      ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined
    if (named) return
    const classes = await listObjects(attributes.ctx, { group, resource: 'ingressclasses' })
    const found = newestDefault(classes, ['ingressclass.kubernetes.io/is-default-class'])
    if (found === undefined) return
    ingress.spec ??= {}
    ingress.spec.ingressClassName = found.metadata.name
  },
}
