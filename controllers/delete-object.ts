/** Deletes exactly the seen object (uid precondition), not a new one of the same name. */
import type { PersistedObject } from '#api/object.js'
import type { DeleteRequestOptions } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

interface DeleteObjectOptions extends Omit<DeleteRequestOptions, 'preconditions'> {
  /** A 409 when somebody wrote meanwhile. */
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
