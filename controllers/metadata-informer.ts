/** Follows a kind for what all kinds have: names, owners, finalizers. */
import type { PersistedObject } from '#api/object.js'
import type { Informer } from '#client/informer.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

/** Not one of the shared informers: the caller runs it. `keep` names what is kept beside the object's identity. */
export const metadataInformer = <T extends PersistedObject>(
  { informers }: ControllerContext,
  ref: ResourceRef,
  keep: readonly (keyof PersistedObject['metadata'])[] = [],
): Informer<T> =>
  informers.separate<T>({
    ref,
    metadataOnly: true,
    transform: ({ kind, apiVersion, metadata }) => {
      const { name, namespace, uid, resourceVersion } = metadata
      const kept = Object.fromEntries(keep.map((field) => [field, metadata[field]]))
      return { kind, apiVersion, metadata: { name, namespace, uid, resourceVersion, ...kept } } as T
    },
  })
