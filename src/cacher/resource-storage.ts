/** The object storage of one resource over the watch cache: which reads memory answers and which the driver. */
import { whenKnown } from '#api/when-known.js'
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'
import type { WatchCache } from './cacher.js'
import { listFromDriver, versionOf } from './direct-storage.js'
import type {
  ListOptions,
  ListPage,
  ObjectStorage,
  ReadConsistency,
  StoredObject,
} from './object-storage.js'
import type { ResourceCache, Selected } from './resource-cache.js'
import type { StoredVersion } from './stored-version.js'
import { Watcher } from './watcher.js'

const none: readonly StoredObject[] = []

export const makeResourceStorage = (cacher: WatchCache, cache: ResourceCache): ObjectStorage => {
  const { writer } = cacher
  const source = cacher.watchSource(cache)

  /** The version that readers and watchers share; another one only when it was already overwritten. */
  const shared = async (written: StoredVersion): Promise<StoredObject> => {
    await cacher.follow(written.revision)
    const found = cache.get(written.key)
    const version = found?.revision === written.revision ? found : written
    // Bytes that came back from a store of others are not those that were sent.
    const made = writer.take(written.value)
    if (made !== undefined) version.adopt(made)
    return version
  }

  return {
    atHand: cacher.driver.shared
      ? undefined
      : {
          get: (key) => {
            void cacher.fresh()
            return cache.get(key)
          },
          list: (prefix) => {
            void cacher.fresh()
            return cache.size === 0 ? none : cache.select({ prefix }, '', 0).items
          },
        },
    get: (key, consistency) => {
      const ready = reach(cacher, consistency)
      if (ready === undefined) return cache.get(key)
      return isReached(ready, consistency).then((reached) =>
        reached ? cache.get(key) : getFromDriver(cacher, key),
      )
    },
    list: (options) => {
      const ready = reach(cacher, options.consistency)
      if (ready === undefined) return listPrepared(cacher, cache, options)
      return isReached(ready, options.consistency).then((reached) =>
        reached
          ? listPrepared(cacher, cache, options)
          : listFromDriver(cacher.driver, options, cacher.sets),
      )
    },
    create: async (key, object, options) =>
      shared(await writer.create(key, object, options?.ttlSeconds)),
    update: async (expected, object, options) =>
      shared(await writer.update(expected, object, options?.ttlSeconds)),
    delete: async (expected) => {
      const last = await writer.delete(expected)
      await cacher.follow(last.revision)
      return last
    },
    watch: (options) => new Watcher(source, options),
    currentRevision: () => cacher.currentRevision(),
    lastChange: () => cache.lastChange,
  }
}

/** Undefined when the cache is there already: a read that need not wait should not. */
const reach = (cacher: WatchCache, consistency: ReadConsistency): Promise<void> | undefined => {
  switch (consistency.kind) {
    case 'consistent':
      return cacher.fresh()
    case 'any':
      return undefined
    case 'notOlderThan':
    case 'exact':
      return consistency.revision <= cacher.currentRevision()
        ? undefined
        : cacher.waitFor(consistency.revision, limits.futureRevisionWaitMs)
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

const getFromDriver = async (
  { driver, sets }: WatchCache,
  key: string,
): Promise<StoredObject | undefined> => {
  const { kv } = await driver.get(key)
  return kv && versionOf(kv, sets)
}

/** Once the indexes are there that it can use. */
const listPrepared = (
  cacher: WatchCache,
  cache: ResourceCache,
  options: ListOptions,
): ListPage | Promise<ListPage> => {
  const preparing = cache.prepare(options.selection)
  return preparing === undefined
    ? list(cacher, cache, options)
    : preparing.then(() => list(cacher, cache, options))
}

const list = (
  cacher: WatchCache,
  cache: ResourceCache,
  { selection, consistency, limit, startKey = '' }: ListOptions,
): ListPage | Promise<ListPage> => {
  const exact = consistency.kind === 'exact' ? consistency.revision : undefined
  if (exact !== undefined && exact < cache.lastChange) {
    return listFromDriver(
      cacher.driver,
      { selection, limit, startKey, revision: exact },
      cacher.sets,
    )
  }
  const revision = exact ?? cacher.currentRevision()
  const pageOf = ({ items, more, isSame }: Selected): ListPage => {
    const last = items[items.length - 1]
    if (!more || last === undefined) return { items, revision, isSame }
    const nextKey = `${last.key}\0`
    return selection.matches === undefined
      ? { items, revision, nextKey, remaining: cache.countAfter(selection, last.key) }
      : { items, revision, nextKey }
  }
  return whenKnown(cache.selectInTurns(selection, startKey, limit), pageOf)
}
