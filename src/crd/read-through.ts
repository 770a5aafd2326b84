/**
 * Objects of a custom resource as its schema of today shows them: pruned and defaulted on the way out, without a
 * write (apiextensions decodes every object from storage through the schema). An object that shows as it is stored
 * costs one look; the result is kept with the stored object.
 */

import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#api/when-known.js'
import { MadeObject } from '#cacher/made-object.js'
import {
  type ObjectEvent,
  type ObjectEventBatch,
  type ObjectStorage,
  type Selection,
  type StoredObject,
  WriteConflict,
} from '#cacher/object-storage.js'
import { sameContent } from '#registry/object-meta.js'

type Show = (object: KubeObject) => KubeObject

export const readThrough = (storage: ObjectStorage, show: Show): ObjectStorage => {
  const shown = new WeakMap<StoredObject, StoredObject>()
  const storedBehind = new WeakMap<StoredObject, StoredObject>()
  const events = new WeakMap<ObjectEvent, ObjectEvent>()

  const look = (stored: StoredObject): StoredObject => {
    let found = shown.get(stored)
    if (found === undefined) {
      const object = show(stored.object)
      found = object === stored.object ? stored : new MadeObject(stored, object)
      shown.set(stored, found)
      storedBehind.set(found, stored)
    }
    return found
  }
  const lookAtEvent = (event: ObjectEvent): ObjectEvent => {
    const stored = look(event.stored)
    if (stored === event.stored) return event
    let found = events.get(event)
    if (found === undefined) {
      found = { ...event, stored }
      events.set(event, found)
    }
    return found
  }
  const behind = (stored: StoredObject): StoredObject => storedBehind.get(stored) ?? stored
  const throughSelection = (selection: Selection): Selection => {
    const { matches } = selection
    return matches === undefined ? selection : { ...selection, matches: (s) => matches(look(s)) }
  }

  const { atHand } = storage
  /** Who tries again works on what is shown, as at the first time. */
  const writing = async (write: Promise<StoredObject>): Promise<StoredObject> => {
    try {
      // An apply, an admission and another version write what the schema does not show.
      return look(await write)
    } catch (error) {
      if (!(error instanceof WriteConflict) || error.current === undefined) throw error
      throw new WriteConflict(look(error.current))
    }
  }
  return {
    atHand: atHand && {
      get: (key) => {
        const stored = atHand.get(key)
        return stored && look(stored)
      },
      list: (prefix) => atHand.list(prefix).map(look),
    },
    get: (key, consistency) =>
      whenKnown(storage.get(key, consistency), (stored) => stored && look(stored)),
    list: async (options) => {
      const page = await storage.list({
        ...options,
        selection: throughSelection(options.selection),
      })
      return { ...page, items: page.items.map(look) }
    },
    create: (key, object, options) => writing(storage.create(key, object, options)),
    update: (expected, object, options) =>
      writing(storage.update(behind(expected), object, options)),
    isStoredAlike: (current, object) => sameContent(object, behind(current).object),
    asRead: show,
    delete: (expected) => writing(storage.delete(behind(expected))),
    watch: (options) =>
      mapBatches(
        storage.watch({ ...options, selection: throughSelection(options.selection) }),
        lookAtEvent,
      ),
    currentRevision: () => storage.currentRevision(),
  }
}

async function* mapBatches(
  batches: AsyncIterable<ObjectEventBatch>,
  map: (event: ObjectEvent) => ObjectEvent,
): AsyncIterable<ObjectEventBatch> {
  for await (const batch of batches) yield { ...batch, events: batch.events.map(map) }
}
