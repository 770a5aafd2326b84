/** The class that an object gets that names none: of storage or of ingresses. */
import type { KubeObject } from './object.js'

/** What a StorageClass says of itself to be the default. */
const storageAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

/** The class that is the default of its kind: the newest one that says so, then the first by name. */
export const newestDefault = <T extends KubeObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined => {
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

export const defaultStorageClassOf = <T extends KubeObject>(classes: readonly T[]): T | undefined =>
  newestDefault(classes, storageAnnotations)
