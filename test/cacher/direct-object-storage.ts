/** Object storage with nothing between it and the driver: what the cached one is held against. */

import {
  changesOf,
  listFromDriver,
  ObjectWriter,
  versionOf,
  watchDriver,
} from '#cacher/direct-storage.js'
import type {
  ListOptions,
  ListPage,
  ObjectEventBatch,
  ObjectStorage,
  ObjectWatchOptions,
  ReadConsistency,
} from '#cacher/object-storage.js'
import { makeWorkingSets } from '#cacher/stored-version.js'
import { limits } from '#limits'
import { type StorageDriver, StorageError } from '#storage/driver.js'

export const directObjectStorage = (driver: StorageDriver): ObjectStorage => {
  const sets = makeWorkingSets(limits.decodedObjectsBytesMax)
  const writer = new ObjectWriter(driver, sets)
  const changeOf = changesOf(sets)
  let known = 0

  const reach = async (consistency: ReadConsistency): Promise<number | undefined> => {
    known = await driver.headRevision()
    if (consistency.kind === 'exact') return consistency.revision
    if (consistency.kind === 'notOlderThan' && consistency.revision > known)
      throw new StorageError('FutureRevision', 'it has not come', { revision: known })
    return undefined
  }
  const list = async (options: ListOptions): Promise<ListPage> => {
    const revision = await reach(options.consistency)
    return listFromDriver(driver, { ...options, revision }, sets)
  }
  const noting = async <T extends { revision: number }>(written: Promise<T>): Promise<T> => {
    const done = await written
    known = Math.max(known, done.revision)
    return done
  }

  async function* watch(options: ObjectWatchOptions): AsyncGenerator<ObjectEventBatch> {
    const { selection, signal, sendInitialEvents = false } = options
    let { after } = options
    if (signal.aborted) return
    if (after === 'any' || sendInitialEvents) {
      const revision = typeof after === 'number' ? after : 0
      const consistency = { kind: 'notOlderThan', revision } as const
      const state = await list({ selection, consistency, limit: 0 })
      const events = state.items.map((stored) => {
        return { type: 'ADDED', stored, revision: stored.revision } as const
      })
      if (events.length > 0) yield { revision: state.revision, events }
      if (sendInitialEvents) yield { revision: state.revision, events: [], initialEventsEnd: true }
      after = state.revision
    }
    const from = after === 'now' ? await driver.headRevision() : after
    for await (const batch of watchDriver(
      driver,
      { selection, after: from, signal },
      { changeOf, fields: {} },
    ))
      if (batch.events.length > 0) yield batch
  }

  return {
    get: async (key, consistency) => {
      await reach(consistency)
      const { kv } = await driver.get(key)
      return kv && versionOf(kv, sets)
    },
    list,
    create: (key, object, options) => noting(writer.create(key, object, options?.ttlSeconds)),
    update: (expected, object, options) =>
      noting(writer.update(expected, object, options?.ttlSeconds)),
    delete: (expected) => noting(writer.delete(expected)),
    watch,
    currentRevision: () => known,
  }
}
