/** Deletes exactly the seen object (uid precondition), not a new one of the same name; or exactly the seen state of it. */
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import type { Client, DeleteRequestOptions } from '#client/client.js'
import { isConflict, isNotFound } from '#client/errors.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

interface DeleteObjectOptions extends Omit<DeleteRequestOptions, 'preconditions'> {
  /** A 409 if somebody has written to it meanwhile. */
  unchanged?: boolean
}

/** The informer is updated at once. False: it was gone already. */
export const deleteObject = async <T extends PersistedObject>(
  { client, informers }: Pick<ControllerContext, 'client' | 'informers'>,
  ref: ResourceRef,
  object: T,
  { unchanged = false, ...options }: DeleteObjectOptions = {},
): Promise<boolean> => {
  const { namespace, name, uid, resourceVersion } = object.metadata
  try {
    const answer = await client.delete(
      ref,
      { ...(namespace ? { namespace } : {}), name },
      { ...options, preconditions: { uid, ...(unchanged ? { resourceVersion } : {}) } },
    )
    informers.for<T>(ref).observeDelete(object, answer)
    return true
  } catch (error) {
    if (!isNotFound(error)) throw error
    informers.for<T>(ref).observeGone(object)
    return false
  }
}

/** Does nothing if it has changed meanwhile or is gone. Does without an informer. */
export const deleteAsSeen = async (
  client: Client,
  ref: ResourceRef,
  { metadata }: NamespacedObject,
  options: Omit<DeleteRequestOptions, 'preconditions'> = {},
): Promise<void> => {
  const { namespace, name, uid, resourceVersion } = metadata
  try {
    await client.delete(
      ref,
      { namespace, name },
      { ...options, preconditions: { uid, resourceVersion } },
    )
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}
