/**
 * The storage of one version of a custom resource whose versions a webhook converts: its readers and writers know
 * objects in that version alone. What was converted once is kept with what is stored, so that the webhook is asked once
 * a version of an object, however many read it.
 */
import { MadeObject } from '#cacher/made-object.js'
import {
  type ListOptions,
  type ListPage,
  type ObjectEvent,
  type ObjectEventBatch,
  type ObjectStorage,
  type ObjectWatchOptions,
  type ReadConsistency,
  type StoredObject,
  WriteConflict,
} from '#cacher/object-storage.js'
import { limits } from '#limits'
import { sameContent } from '#registry/object-meta.js'
import type { StoredConversion } from '#registry/resource-definition.js'

type Selected = Map<string, StoredObject>

/** The event as a watcher sees it whose selector is `matches`; undefined when it sees nothing of it. */
const enter = (
  selected: Selected,
  event: ObjectEvent,
  matches: (stored: StoredObject) => boolean,
): ObjectEvent | undefined => {
  const { stored, revision } = event
  const had = selected.get(stored.key)
  if (event.type !== 'DELETED' && matches(stored)) {
    selected.set(stored.key, stored)
    return { ...event, type: had === undefined ? 'ADDED' : 'MODIFIED' }
  }
  selected.delete(stored.key)
  if (had === undefined) return undefined
  if (event.type === 'DELETED') return event
  // What left the selection is shown as it was before, at the version of the update (apiserver, etcd3/watcher.go).
  const metadata = { ...had.object.metadata, resourceVersion: String(revision) }
  const gone = new MadeObject({ key: had.key, revision }, { ...had.object, metadata })
  return { type: 'DELETED', stored: gone, revision }
}

/** A few at a time: a webhook is somebody's small server. Rejects with what the first item in order failed with. */
const mapFew = async <T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  for (let at = 0; at < items.length; at += limits.conversionsAtOnceMax) {
    const few = items.slice(at, at + limits.conversionsAtOnceMax)
    for (const outcome of await Promise.allSettled(few.map(map))) {
      if (outcome.status === 'rejected') throw outcome.reason
      results.push(outcome.value)
    }
  }
  return results
}

export const convertStorage = (
  storage: ObjectStorage,
  { toStorage, fromStorage }: StoredConversion,
): ObjectStorage => {
  const shown = new WeakMap<StoredObject, Promise<StoredObject>>()
  const storedBehind = new WeakMap<StoredObject, StoredObject>()

  const convert = async (stored: StoredObject): Promise<StoredObject> => {
    const object = await fromStorage(stored.object)
    if (object === stored.object) return stored
    object.metadata.resourceVersion = String(stored.revision)
    const found = new MadeObject(stored, object)
    storedBehind.set(found, stored)
    return found
  }
  const look = (stored: StoredObject): Promise<StoredObject> => {
    let found = shown.get(stored)
    if (found === undefined) {
      found = convert(stored)
      shown.set(stored, found)
      // The next reader asks the webhook again.
      found.catch(() => shown.delete(stored))
    }
    return found
  }
  const behind = (stored: StoredObject): StoredObject => storedBehind.get(stored) ?? stored
  const writing = async (write: () => Promise<StoredObject>): Promise<StoredObject> => {
    try {
      return await look(await write())
    } catch (error) {
      if (!(error instanceof WriteConflict) || error.current === undefined) throw error
      throw new WriteConflict(await look(error.current))
    }
  }

  /** Selectors speak of the version that is asked for: they are tried on what was converted. */
  const select = async (options: ListOptions): Promise<ListPage> => {
    const { prefix, key, matches } = options.selection
    const selection = { prefix, ...(key === undefined ? {} : { key }) }
    const page = await storage.list({ ...options, selection, limit: 0 })
    const items = (await mapFew(page.items, look)).filter((item) => matches!(item))
    const { limit } = options
    if (limit === 0 || items.length <= limit) return { items, revision: page.revision }
    const kept = items.slice(0, limit)
    return { items: kept, revision: page.revision, nextKey: `${kept.at(-1)!.key}\0` }
  }

  /** What a watch with a selector starts from. */
  const before = async ({
    selection,
    after,
  }: ObjectWatchOptions): Promise<readonly StoredObject[]> => {
    const consistency: ReadConsistency =
      typeof after === 'number' ? { kind: 'exact', revision: after } : { kind: 'consistent' }
    return (await select({ selection, consistency, limit: 0 })).items
  }

  const lookAtBatch = async (batch: ObjectEventBatch): Promise<ObjectEventBatch> => {
    const events = await mapFew(
      batch.events,
      async (event): Promise<ObjectEvent> => ({ ...event, stored: await look(event.stored) }),
    )
    return { ...batch, events }
  }

  return {
    get: async (key, consistency) => {
      const stored = await storage.get(key, consistency)
      return stored && look(stored)
    },
    list: async (options) => {
      if (options.selection.matches !== undefined) return select(options)
      const page = await storage.list(options)
      return { ...page, items: await mapFew(page.items, look) }
    },
    create: (key, object, options) =>
      writing(async () => storage.create(key, await toStorage(object), options)),
    update: (expected, object, options) =>
      writing(async () => storage.update(behind(expected), await toStorage(object), options)),
    // Conversion there and back may lose something, and what is written is what upstream compares.
    isStoredAlike: async (current, object) => {
      const stored = behind(current)
      const written = await toStorage(object)
      return storage.isStoredAlike?.(stored, written) ?? sameContent(written, stored.object)
    },
    asRead: async (object) => {
      const stored = await toStorage(object)
      return fromStorage((await storage.asRead?.(stored)) ?? stored)
    },
    delete: (expected) => writing(() => storage.delete(behind(expected))),
    async *watch(options) {
      const { prefix, key, matches } = options.selection
      const selection = { prefix, ...(key === undefined ? {} : { key }) }
      const selected = matches === undefined ? undefined : new Map<string, StoredObject>()
      if (selected !== undefined && options.after !== 'any' && options.sendInitialEvents !== true)
        for (const item of await before(options)) selected.set(item.key, item)
      for await (const batch of storage.watch({ ...options, selection })) {
        const shownBatch = await lookAtBatch(batch)
        if (selected === undefined) yield shownBatch
        else {
          const events = shownBatch.events.flatMap(
            (event) => enter(selected, event, matches!) ?? [],
          )
          yield { ...shownBatch, events }
        }
      }
    },
    currentRevision: () => storage.currentRevision(),
  }
}
