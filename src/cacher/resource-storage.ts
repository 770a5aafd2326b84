/**
 * The object storage of one resource over the watch cache. It decides which reads memory answers and which the driver.
 */
import { internalError } from '#api/errors.js'
import { whenKnown } from '#async/when-known.js'
import { type StorageDriver, StorageError } from '#storage/driver.js'
import { listFromDriver, type ObjectWriter } from './direct-storage.js'
import type {
  ListOptions,
  ListPage,
  ObjectStorage,
  ReadConsistency,
  StateAtHand,
  StoredObject,
} from './object-storage.js'
import type { ResourceCache, Selected } from './resource-cache.js'
import type { StoredVersion, WorkingSets } from './stored-version.js'
import { UnreadableObjects } from './unreadable-objects.js'
import { Watcher, type WatchSource } from './watcher.js'

/** What the resources of one store share: the driver and how far the cache has followed it. */
export interface FollowedStore {
  readonly driver: StorageDriver
  readonly sets: WorkingSets
  readonly writer: ObjectWriter
  currentRevision(): number
  /** Resolves when a version that a client names is here, which may be yet to come. */
  reach(revision: number, awaitsFuture: boolean): Promise<void>
  /**
   * Resolves when the event of a completed write is here. With a shared store it may be late, and is not waited for
   * without end.
   */
  follow(revision: number): Promise<void>
  /** Resolves when every write that was acknowledged before this call is here; undefined when it is already. */
  fresh(): Promise<void> | undefined
  /** What all watchers of a resource share. */
  watchSource(cache: ResourceCache, awaitsFuture: boolean): WatchSource
}

const none: readonly StoredObject[] = []

/** Asked of the store itself: keys may have changed since it was read. */
const isStale = (driver: StorageDriver): ObjectStorage['isStale'] => {
  const { encryption } = driver
  if (encryption === undefined) return undefined
  return async ({ key }) => {
    if (!encryption.covers(key)) return false
    const { kv } = await driver.get(key)
    if (kv?.unreadable !== undefined) throw internalError(kv.unreadable)
    return kv?.isStale === true
  }
}

const stateAtHand = (
  store: FollowedStore,
  cache: ResourceCache,
  unreadable: UnreadableObjects,
): StateAtHand => ({
  get: (key) => {
    void store.fresh()
    return cache.get(key) ?? cache.unreadable.get(key)
  },
  list: (prefix) => {
    void store.fresh()
    // Its callers count and decide by what they get, and must not do so by a part of it.
    if (cache.unreadable.size > 0) throw unreadable.notReady()
    return cache.size === 0 ? none : cache.select({ prefix }, '', 0).items
  },
})

export const makeResourceStorage = (
  store: FollowedStore,
  cache: ResourceCache,
  { typeName, awaitsFuture }: { typeName: string; awaitsFuture: boolean },
): ObjectStorage => {
  const { writer, driver, sets } = store
  const { encryption } = driver
  const source = store.watchSource(cache, awaitsFuture)
  const unreadable = new UnreadableObjects({ driver, sets, cache, typeName })

  const find = (key: string): StoredObject | undefined | Promise<StoredObject | undefined> =>
    cache.get(key) ?? (cache.unreadable.has(key) ? unreadable.get(key) : undefined)

  /** The version that readers and watchers share, or `written` if that has already been overwritten. */
  const shared = async (written: StoredVersion): Promise<StoredObject> => {
    await store.follow(written.revision)
    const found = cache.get(written.key)
    const version = found?.revision === written.revision ? found : written
    // A shared store sends back other buffers than those that were written.
    const made = writer.take(written.value)
    if (made !== undefined) version.adopt(made)
    return version
  }

  const listFromCache = (options: ListOptions): ListPage | Promise<ListPage> => {
    const ready = reach(store, options.consistency, awaitsFuture)
    if (ready === undefined) return listPrepared(store, cache, options)
    return isReached(ready, options.consistency).then((reached) =>
      reached ? listPrepared(store, cache, options) : listFromDriver(driver, options, sets),
    )
  }

  return {
    atHand: driver.shared ? undefined : stateAtHand(store, cache, unreadable),
    get: (key, consistency) => {
      // Upstream makes such reads from the store, and so sees at once that a key for decryption is gone.
      if (encryption?.hasChanged() && consistency.kind === 'consistent' && encryption.covers(key))
        return unreadable.get(key)
      const ready = reach(store, consistency, awaitsFuture)
      if (ready === undefined) return find(key)
      return isReached(ready, consistency).then((reached) =>
        reached ? find(key) : unreadable.get(key),
      )
    },
    list: (options) => {
      if (cache.unreadable.size > 0)
        return unreadable.list(options).then((page) => page ?? listFromCache(options))
      return listFromCache(options)
    },
    create: async (key, object, options) =>
      shared(await writer.create(key, object, options?.ttlSeconds)),
    update: async (expected, object, options) =>
      shared(await writer.update(expected, object, options?.ttlSeconds)),
    delete: async (expected) => {
      const last = await writer.delete(expected)
      await store.follow(last.revision)
      return last
    },
    isStale: isStale(driver),
    told: () => cache.told,
    watch: (options) => new Watcher(source, options),
    notReady: () => (cache.unreadable.size > 0 ? unreadable.notReady() : undefined),
    whenReached: (revision) => reach(store, { kind: 'notOlderThan', revision }, awaitsFuture),
    currentRevision: () => store.currentRevision(),
    lastChange: () => cache.lastChange,
  }
}

/** Undefined when the cache is there already: a read that need not wait should not. */
const reach = (
  store: FollowedStore,
  consistency: ReadConsistency,
  awaitsFuture: boolean,
): Promise<void> | undefined => {
  switch (consistency.kind) {
    case 'consistent':
      return store.fresh()
    case 'any':
      return undefined
    case 'notOlderThan':
    case 'exact':
      return consistency.revision <= store.currentRevision()
        ? undefined
        : store.reach(consistency.revision, awaitsFuture)
  }
}

/** False when a consistent read has to ask the store itself, as upstream's does when its cache lags behind. */
const isReached = async (ready: Promise<void>, { kind }: ReadConsistency): Promise<boolean> => {
  try {
    await ready
    return true
  } catch (error) {
    const lags = error instanceof StorageError && error.code === 'FutureRevision'
    if (!lags || kind !== 'consistent') throw error
    return false
  }
}

/** Waits until the indexes that the selection can use have been made. */
const listPrepared = (
  store: FollowedStore,
  cache: ResourceCache,
  options: ListOptions,
): ListPage | Promise<ListPage> => {
  const preparing = cache.prepare(options.selection)
  return preparing === undefined
    ? list(store, cache, options)
    : preparing.then(() => list(store, cache, options))
}

const list = (
  store: FollowedStore,
  cache: ResourceCache,
  { selection, consistency, limit, startKey = '' }: ListOptions,
): ListPage | Promise<ListPage> => {
  const exact = consistency.kind === 'exact' ? consistency.revision : undefined
  // A compacted revision is gone for all resources, those that have not changed since included.
  const { driver } = store
  if (exact !== undefined && (exact < cache.lastChange || exact < driver.compactedRevision())) {
    return listFromDriver(driver, { selection, limit, startKey, revision: exact }, store.sets)
  }
  const revision = exact ?? store.currentRevision()
  const pageOf = ({ items, more, isSame }: Selected): ListPage => {
    const last = items[items.length - 1]
    if (!more || last === undefined) return { items, revision, isSame }
    const nextKey = `${last.key}\0`
    return selection.matches === undefined
      ? { items, revision, nextKey, remaining: cache.countAfter(selection, last.key) }
      : { items, revision, nextKey }
  }
  const asked = exact === undefined ? selection : { ...selection, indexed: undefined }
  return whenKnown(cache.selectInTurns(asked, startKey, limit), pageOf)
}
