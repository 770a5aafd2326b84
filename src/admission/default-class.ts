/** The classes that claims and ingresses get when they name none (plugin/pkg/admission/{storage,network}). */
import type { KubeObject } from '#api/object.js'
import { type AdmissionPlugin, isAbout, listObjects } from './plugin.js'

/** The class that is the default of its kind: the newest one that says so, then the first by name. */
const newestDefault = (
  classes: readonly KubeObject[],
  annotations: readonly string[],
): KubeObject | undefined => {
  const isDefault = (o: KubeObject): boolean =>
    annotations.some((key) => o.metadata.annotations?.[key] === 'true')
  const created = (o: KubeObject): string => o.metadata.creationTimestamp ?? ''
  return classes
    .filter(isDefault)
    .sort((a, b) =>
      created(a) === created(b)
        ? (a.metadata.name ?? '') < (b.metadata.name ?? '')
          ? -1
          : 1
        : created(a) < created(b)
          ? 1
          : -1,
    )[0]
}

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
    const claim = attributes.object
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
    const ingress = attributes.object
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
