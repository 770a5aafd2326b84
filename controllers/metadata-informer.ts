/** Follows a kind for what all kinds have: names, owners, finalizers. */
import type { KubeObject } from '#api/object.js'
import { Informer } from '#client/informer.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

/** Not one of the shared ones: who makes it runs it. `keep` names the metadata that is kept. */
export const metadataInformer = (
  { client, log }: ControllerContext,
  ref: ResourceRef,
  keep: readonly (keyof KubeObject['metadata'])[],
): Informer =>
  new Informer<KubeObject>({
    client,
    log,
    ref,
    metadataOnly: true,
    transform: ({ kind, apiVersion, metadata }) => ({
      kind,
      apiVersion,
      metadata: Object.fromEntries(keep.map((field) => [field, metadata[field]])),
    }),
  })
