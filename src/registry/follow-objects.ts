/** The objects of one resource as the server itself follows them: read once, then watched until the signal fires. */
import type { Clock } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'
import { listAll, selectAll } from './list-all.js'
import type { Store } from './store.js'

export interface FollowDeps {
  readonly storeOf: (resource: GroupResource) => Store | undefined
  readonly log: (message: string, error?: unknown) => void
  readonly signal: AbortSignal
}

/** For followers that make the signal themselves. */
export interface FollowerDeps extends Omit<FollowDeps, 'signal'> {
  readonly clock: Clock
}

/** The next call waits for the promise that the one before has returned. */
export interface Follower {
  /** All objects: at first, and again after the watch broke off. */
  replace(objects: readonly PersistedObject[]): void | Promise<void>
  changed(type: string, object: PersistedObject): void | Promise<void>
}

/**
 * Resolves when everything has been read, and `done` when following has ended. Without `namespace` it follows all
 * namespaces. What cannot be decrypted, or what a follower cannot take, is read again later, as by an informer: no object
 * keeps a server from starting. Rejects where the store does not answer.
 */
export const followObjects = async (
  { storeOf, log, signal }: FollowDeps,
  resource: GroupResource,
  follower: Follower,
  namespace?: string,
): Promise<{ done: Promise<void> }> => {
  const store = storeOf(resource)!
  const persisted = ({ object }: StoredObject) => object as PersistedObject
  const read = () => listAll(store, namespace)
  const tell = async ({ items, revision }: ListPage): Promise<number> => {
    await follower.replace(items.map(persisted))
    return revision
  }
  const watch = async (after: number): Promise<void> => {
    const selection = selectAll(store, namespace)
    for await (const { events } of store.watch({ selection, after, signal }))
      for (const { type, stored } of events) await follower.changed(type, persisted(stored))
  }
  const again = (error: unknown): undefined => {
    if (!signal.aborted) log(`the watch of ${resource.resource} starts again`, error)
  }
  const keep = async (first: number | undefined): Promise<void> => {
    let revision = first
    while (!signal.aborted) {
      try {
        await watch(revision ?? (await tell(await read())))
      } catch (error) {
        again(error)
      }
      revision = undefined
      await sleep(limits.retryMs, signal, { ref: false })
    }
  }
  const readFirst = async (): Promise<ListPage | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof ApiError) || error.cause instanceof StorageError) throw error
      return again(error)
    }
  }
  const page = await readFirst()
  return { done: keep(page && (await tell(page).catch(again))) }
}
