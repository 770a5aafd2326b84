/** Compare-and-swap for objects that servers of one store share and no resource shows; upstream's GuaranteedUpdate. */
import type { KubeObject } from '#api/object.js'
import {
  type ObjectStorage,
  type StoredObject,
  WriteConflict,
  type WriteOptions,
} from '#cacher/object-storage.js'
import { interpretStorageError } from './interpret-storage-error.js'

/**
 * Writes what `change` makes of the stored object, and calls it again whenever somebody else was faster. If `change` yields
 * undefined, so does this, and nothing is written.
 */
export const changeObject = async (
  storage: ObjectStorage,
  key: string,
  change: (current: KubeObject | undefined) => KubeObject | undefined,
  options?: WriteOptions,
): Promise<StoredObject | undefined> => {
  let current = await storage.get(key, { kind: 'any' })
  for (;;) {
    const next = change(current?.object)
    if (next === undefined) return undefined
    try {
      return await (current === undefined
        ? storage.create(key, next, options)
        : storage.update(current, next, options))
    } catch (error) {
      if (!(error instanceof WriteConflict))
        throw interpretStorageError(error, {
          resource: { group: '', resource: key },
          operation: 'update',
        })
      current = error.current
    }
  }
}
