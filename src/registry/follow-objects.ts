/** The objects of one resource as the server itself follows them: read once, then watched until the signal fires. */
import type { Clock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
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
 * namespaces.
 */
export const followObjects = async (
  { storeOf, log, signal }: FollowDeps,
  resource: GroupResource,
  follower: Follower,
  namespace?: string,
): Promise<{ done: Promise<void> }> => {
  const store = storeOf(resource)!
  const persisted = ({ object }: StoredObject) => object as PersistedObject
  const read = async (): Promise<number> => {
    const page = await listAll(store, namespace)
    await follower.replace(page.items.map(persisted))
    return page.revision
  }
  const watch = async (after: number): Promise<void> => {
    const selection = selectAll(store, namespace)
    for await (const { events } of store.watch({ selection, after, signal }))
      for (const { type, stored } of events) await follower.changed(type, persisted(stored))
  }
  const keep = async (first: number): Promise<void> => {
    let revision: number | undefined = first
    while (!signal.aborted) {
      try {
        await watch(revision ?? (await read()))
      } catch (error) {
        if (signal.aborted) return
        log(`the watch of ${resource.resource} starts again`, error)
      }
      revision = undefined
      await sleep(limits.retryMs, signal, { ref: false })
    }
  }
  return { done: keep(await read()) }
}
