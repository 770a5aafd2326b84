/**
 * Reads from the server where the watch may be behind: each kind has a watch of its own, and an object may be seen later
 * than one that refers to it. Nothing is deleted or given up for a missing object before the server has confirmed it.
 */
import type { PersistedObject } from '#api/object.js'
import { isNotFound } from '#client/errors.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

interface Named {
  namespace?: string | undefined
  name?: string | undefined
  /** Missing: whoever has the name. */
  uid?: string | undefined
}

/** The informer gets the object at once, and so will report its end. Undefined: it is gone, or another has its name. */
export const readLive = async <T extends PersistedObject>(
  { client, informers }: Pick<ControllerContext, 'client' | 'informers'>,
  ref: ResourceRef,
  { namespace, name = '', uid }: Named,
): Promise<T | undefined> => {
  // The server would answer with all there are.
  if (name === '') return undefined
  try {
    const object = await client.get<T>(ref, { ...(namespace ? { namespace } : {}), name })
    if (uid && object.metadata.uid !== uid) return undefined
    informers.for<T>(ref).observe(object)
    return object
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
