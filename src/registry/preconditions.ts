/**
 * The storage layer's check of a client's preconditions, which update and delete repeat at each try (apiserver,
 * storage/interfaces.go, Preconditions.Check). What a delete checks before is in before-delete.ts.
 */
import { conflict } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { DeleteOptions, RequestContext, ResourceDefinition } from './resource-definition.js'
import { keyOf } from './store-base.js'

/**
 * Throws 409. `current` is undefined where there is no object. In a dry run upstream's message has the key without its
 * prefix.
 */
export const checkPreconditions = (
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']> = {},
  current: KubeObject | undefined,
  { definition, ctx, name }: { definition: ResourceDefinition; ctx: RequestContext; name: string },
): void => {
  const meta = current?.metadata
  const check = (field: string, given: string | undefined, has = ''): void => {
    if (given === undefined || given === has) return
    const key = keyOf(definition, ctx.namespace, name)
    const shown = ctx.dryRun ? key.replace(/^\/registry/, '') : key
    throw conflict(
      definition.gvr,
      name,
      `StorageError: invalid object, Code: 4, Key: ${shown}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${has}`,
    )
  }
  check('UID', uid, meta?.uid)
  check('ResourceVersion', resourceVersion, meta?.resourceVersion)
}

/**
 * The check of the kinds that delete in a way of their own (namespaces' and definitions' REST.Delete): in other words, and
 * of the object that is deleted too. Yields options for exactly that object: one made again under its name is not meant.
 */
export const guardDelete = (
  options: DeleteOptions,
  { metadata }: KubeObject,
  { gvr }: ResourceDefinition,
): DeleteOptions => {
  const { uid, resourceVersion } = options.preconditions ?? {}
  const check = (field: string, given: string | undefined, has = ''): void => {
    if (given === undefined || given === has) return
    throw conflict(
      gvr,
      metadata.name ?? '',
      `Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${has}`,
    )
  }
  check('UID', uid, metadata.uid)
  check('ResourceVersion', resourceVersion, metadata.resourceVersion)
  return { ...options, preconditions: { ...options.preconditions, uid: metadata.uid ?? '' } }
}
