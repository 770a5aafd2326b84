/** The objects of one resource as the server itself follows them: read once, then watched until the signal fires. */
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { internalContext } from './internal-context.js'
import type { Store } from './store.js'

export interface FollowDeps {
  readonly storeOf: (resource: GroupResource) => Store | undefined
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
  readonly signal: AbortSignal
}

/** What comes next waits for what a call returns. */
export interface Follower {
  /** Everything there is: at first, and again when the watch broke off. */
  replace(objects: readonly PersistedObject[]): void | Promise<void>
  changed(type: string, object: PersistedObject): void | Promise<void>
}

/** Resolves when everything has been read; `done` when it has ended. Without a namespace they are of all. */
export const followObjects = async (
  { storeOf, clock, log, signal }: FollowDeps,
  resource: GroupResource,
  follower: Follower,
  namespace?: string,
): Promise<{ done: Promise<void> }> => {
  const store = storeOf(resource)!
  const below = namespace === undefined ? '' : `${namespace}/`
  const selection = { prefix: `${store.definition.storagePrefix}/${below}` }
  const context = () =>
    internalContext({ now: clock.now(), caller: { signal }, stores: () => undefined }, namespace)
  const persisted = ({ object }: StoredObject) => object as PersistedObject
  const read = async (): Promise<number> => {
    const consistency = { kind: 'consistent' } as const
    const page = await store.list(context(), { selection, consistency, limit: 0 })
    await follower.replace(page.items.map(persisted))
    return page.revision
  }
  const watch = async (after: number): Promise<void> => {
    for await (const { events } of store.watch(context(), { selection, after, signal }))
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
      await setTimeout(limits.retryMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  return { done: keep(await read()) }
}
