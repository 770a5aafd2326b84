/**
 * The storage layer's check of a client's preconditions, which update and delete repeat at each try (apiserver,
 * storage/interfaces.go, Preconditions.Check). What a delete checks before is in before-delete.ts.
 */
import { conflict } from '#api/errors.js'
import type { KubeObject, ObjectMeta } from '#api/object.js'
import type { DeleteOptions, RequestContext, ResourceDefinition } from './resource-definition.js'
import { keyOf } from './store-base.js'

const mismatch = (field: string, given: string | undefined, has = ''): string | undefined =>
  given === undefined || given === has
    ? undefined
    : `Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${has}`

/** Upstream's words for the first that does not hold. */
const failedPrecondition = (
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']> = {},
  metadata: ObjectMeta | undefined,
): string | undefined =>
  mismatch('UID', uid, metadata?.uid) ??
  mismatch('ResourceVersion', resourceVersion, metadata?.resourceVersion)

/**
 * Throws 409. `current` is undefined where there is no object. In a dry run upstream's message has the key without its
 * prefix.
 */
export const checkPreconditions = (
  preconditions: DeleteOptions['preconditions'],
  current: KubeObject | undefined,
  { definition, ctx, name }: { definition: ResourceDefinition; ctx: RequestContext; name: string },
): void => {
  const failed = failedPrecondition(preconditions, current?.metadata)
  if (failed === undefined) return
  const key = keyOf(definition, ctx.namespace, name)
  const shown = ctx.dryRun ? key.replace(/^\/registry/, '') : key
  throw conflict(
    definition.gvr,
    name,
    `StorageError: invalid object, Code: 4, Key: ${shown}, ResourceVersion: 0, AdditionalErrorMsg: ${failed}`,
  )
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
  const failed = failedPrecondition(options.preconditions, metadata)
  if (failed !== undefined) throw conflict(gvr, metadata.name ?? '', failed)
  return { ...options, preconditions: { ...options.preconditions, uid: metadata.uid ?? '' } }
}
