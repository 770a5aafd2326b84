/**
 * Shows objects of a custom resource through its current schema: pruned and defaulted when they are read, without a write
 * (apiextensions decodes every stored object through the schema). Each stored object is checked once; the result is kept
 * with it.
 */
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { MadeObject } from '#cacher/made-object.js'
import {
  type ListOptions,
  type ListPage,
  type ObjectEvent,
  type ObjectEventBatch,
  type ObjectStorage,
  type ObjectWatchOptions,
  type ReadConsistency,
  type Selection,
  type StateAtHand,
  type StoredObject,
  WriteConflict,
  type WriteOptions,
} from '#cacher/object-storage.js'
import { sameContent } from '#registry/object-meta.js'

type Show = (object: KubeObject) => KubeObject

export class ShownStorage implements ObjectStorage {
  readonly atHand: StateAtHand | undefined
  readonly asRead: Show
  readonly #storage: ObjectStorage
  readonly #shown = new WeakMap<StoredObject, StoredObject>()
  readonly #storedBehind = new WeakMap<StoredObject, StoredObject>()
  readonly #shownEvents = new WeakMap<ObjectEvent, ObjectEvent>()

  constructor(storage: ObjectStorage, show: Show) {
    this.#storage = storage
    this.asRead = show
    const { atHand } = storage
    this.atHand = atHand && {
      get: (key) => {
        const stored = atHand.get(key)
        return stored && this.#show(stored)
      },
      list: (prefix) => atHand.list(prefix).map((stored) => this.#show(stored)),
    }
  }

  get(
    key: string,
    consistency: ReadConsistency,
  ): StoredObject | undefined | Promise<StoredObject | undefined> {
    return whenKnown(this.#storage.get(key, consistency), (stored) => stored && this.#show(stored))
  }

  async list(options: ListOptions): Promise<ListPage> {
    const selection = this.#selectShown(options.selection)
    const page = await this.#storage.list({ ...options, selection })
    return { ...page, items: page.items.map((stored) => this.#show(stored)) }
  }

  create(key: string, object: KubeObject, options?: WriteOptions): Promise<StoredObject> {
    return this.#showWritten(this.#storage.create(key, object, options))
  }

  update(
    expected: StoredObject,
    object: KubeObject,
    options?: WriteOptions,
  ): Promise<StoredObject> {
    return this.#showWritten(this.#storage.update(this.#behind(expected), object, options))
  }

  delete(expected: StoredObject): Promise<StoredObject> {
    return this.#showWritten(this.#storage.delete(this.#behind(expected)))
  }

  isStoredAlike(current: StoredObject, object: KubeObject): boolean {
    return sameContent(object, this.#behind(current).object)
  }

  isStale(current: StoredObject): boolean | Promise<boolean> {
    return this.#storage.isStale?.(this.#behind(current)) ?? false
  }

  notReady(): ReturnType<NonNullable<ObjectStorage['notReady']>> {
    return this.#storage.notReady?.()
  }

  watch(options: ObjectWatchOptions): AsyncIterable<ObjectEventBatch> {
    const selection = this.#selectShown(options.selection)
    return this.#showBatches(this.#storage.watch({ ...options, selection }))
  }

  whenReached(revision: number): Promise<void> | undefined {
    return this.#storage.whenReached?.(revision)
  }

  currentRevision(): number {
    return this.#storage.currentRevision()
  }

  #show(stored: StoredObject): StoredObject {
    if (stored.why !== undefined) return stored
    let shown = this.#shown.get(stored)
    if (shown === undefined) {
      const object = this.asRead(stored.object)
      shown = object === stored.object ? stored : new MadeObject(stored, object)
      this.#shown.set(stored, shown)
      this.#storedBehind.set(shown, stored)
    }
    return shown
  }

  #showEvent(event: ObjectEvent): ObjectEvent {
    const stored = this.#show(event.stored)
    if (stored === event.stored) return event
    let shown = this.#shownEvents.get(event)
    if (shown === undefined) {
      shown = { ...event, stored }
      this.#shownEvents.set(event, shown)
    }
    return shown
  }

  /** Separate from `watch`, so that a watch from 'now' begins with the call and not with its first read. */
  async *#showBatches(batches: AsyncIterable<ObjectEventBatch>): AsyncIterable<ObjectEventBatch> {
    for await (const batch of batches)
      yield { ...batch, events: batch.events.map((event) => this.#showEvent(event)) }
  }

  #behind(shown: StoredObject): StoredObject {
    return this.#storedBehind.get(shown) ?? shown
  }

  #selectShown(selection: Selection): Selection {
    const { matches } = selection
    if (matches === undefined) return selection
    return { ...selection, matches: (stored) => matches(this.#show(stored)) }
  }

  /**
   * An apply, a webhook and writes of another version may store fields that the schema does not show. After a conflict
   * the writer gets the shown form.
   */
  async #showWritten(write: Promise<StoredObject>): Promise<StoredObject> {
    try {
      return this.#show(await write)
    } catch (error) {
      if (!(error instanceof WriteConflict) || error.current === undefined) throw error
      throw new WriteConflict(this.#show(error.current))
    }
  }
}
