/** The class that an object gets that names none: of storage or of ingresses. */

import { compareTexts } from '#go/compare-texts.js'
import type { KubeObject } from './object.js'

const saysSo =
  (...annotations: readonly string[]) =>
  ({ metadata }: KubeObject): boolean =>
    annotations.some((key) => metadata.annotations?.[key] === 'true')

/** Whether the class calls itself the default. */
export const isDefaultStorageClass = saysSo(
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
)
export const isDefaultIngressClass = saysSo('ingressclass.kubernetes.io/is-default-class')

/** Of several defaults the newest, then the first by name. */
export const newestDefault = <T extends KubeObject>(
  classes: readonly T[],
  isDefault: (object: KubeObject) => boolean,
): T | undefined => {
  const created = (o: KubeObject): string => o.metadata.creationTimestamp ?? ''
  return classes
    .filter(isDefault)
    .sort(
      (a, b) =>
        compareTexts(created(b), created(a)) ||
        compareTexts(a.metadata.name ?? '', b.metadata.name ?? ''),
    )[0]
}
