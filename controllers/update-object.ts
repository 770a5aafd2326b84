/** Writes what a controller has changed, and lets the informer know of it at once. */
import type { PersistedObject } from '#api/object.js'
import type { ResourceRef } from '#client/resources.js'
import type { ControllerContext } from './controller.js'

type Writing = Pick<ControllerContext, 'client' | 'informers'>

const update = async <T extends PersistedObject>(
  { client, informers }: Writing,
  ref: ResourceRef,
  object: T,
  options: { subresource?: string } = {},
): Promise<T> => {
  const written = await client.update(ref, object, options)
  informers.for<T>(ref).observe(written)
  return written
}

/** Refused with 409 when somebody wrote meanwhile. */
export const updateObject = <T extends PersistedObject>(
  writing: Writing,
  ref: ResourceRef,
  object: T,
): Promise<T> => update(writing, ref, object)

/** The same for the status alone. */
export const updateStatus = <T extends PersistedObject>(
  writing: Writing,
  ref: ResourceRef,
  object: T,
  status: T['status'],
): Promise<T> => update(writing, ref, { ...object, status }, { subresource: 'status' })
