/**
 * The storage of one version of a custom resource whose versions a webhook converts: its readers and writers know objects
 * in that version alone. Converted objects are kept with the stored ones, so that the webhook is asked once for each
 * version of an object, however many read it.
 */
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import { CacheRefusal } from '#cacher/cache-refusal.js'
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
  type StoredObject,
  WriteConflict,
  type WriteOptions,
} from '#cacher/object-storage.js'
import { limits } from '#limits'
import { sameContent } from '#registry/object-meta.js'
import type { StoredConversion } from '#registry/resource-definition.js'

type Matches = NonNullable<Selection['matches']>
type Selected = Map<string, StoredObject>

/** The event as a watcher sees it whose selector is `matches`; undefined when it sees nothing of it. */
const enter = (
  selected: Selected,
  event: ObjectEvent,
  matches: Matches,
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
  // An object that left the selection is shown in its former state, with the version of the update (apiserver,
  // etcd3/watcher.go).
  const metadata = { ...had.object.metadata, resourceVersion: String(revision) }
  const gone = new MadeObject({ key: had.key, revision }, { ...had.object, metadata })
  return { type: 'DELETED', stored: gone, revision }
}

/**
 * A few at a time, because the webhook may be a small server. Rejects with the error of the first failed item in order.
 */
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

/** Retries until the webhook answers, without telling the watcher, as upstream. Undefined: the watch ended first. */
const untilConverted = async <T>(
  signal: AbortSignal,
  convert: () => Promise<T>,
): Promise<T | undefined> => {
  while (!signal.aborted) {
    try {
      return await convert()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      await sleep(limits.conversionRetryMs, signal)
    }
  }
  return undefined
}

/** Without the selector, which applies to the converted object. */
const unselected = ({ prefix, key }: Selection): Selection =>
  key === undefined ? { prefix } : { prefix, key }

export class ConvertedStorage implements ObjectStorage {
  readonly #storage: ObjectStorage
  readonly #conversion: StoredConversion
  readonly #prefix: string
  readonly #refusal: CacheRefusal
  /** Until then upstream's cache of this version is being filled. */
  #isFilled = false
  #filling: Promise<ApiError | undefined> | undefined
  readonly #shown = new WeakMap<StoredObject, Promise<StoredObject>>()
  readonly #storedBehind = new WeakMap<StoredObject, StoredObject>()

  /** `typeName` is what upstream calls the version: `example.com/v2, Kind=Widget`. */
  constructor(
    storage: ObjectStorage,
    conversion: StoredConversion,
    { prefix, typeName }: { prefix: string; typeName: string },
  ) {
    this.#storage = storage
    this.#conversion = conversion
    this.#prefix = prefix
    this.#refusal = new CacheRefusal(typeName)
    // Upstream fills its cache as soon as the definition is served; without objects that needs no webhook. If the store
    // cannot be asked, whoever reads next asks again.
    this.#fillIfEmpty().catch(() => {})
  }

  async get(key: string, consistency: ReadConsistency): Promise<StoredObject | undefined> {
    const stored = await this.#storage.get(key, consistency)
    return stored && this.#show(stored)
  }

  async list(options: ListOptions): Promise<ListPage> {
    const { matches, key } = options.selection
    // A page without a selector is read from the store (cacher/delegator.go).
    if (options.limit === 0 || matches !== undefined || key !== undefined) {
      const refusal = await this.notReady()
      if (refusal !== undefined) throw refusal
    }
    if (matches !== undefined) return this.#select(options, matches)
    const page = await this.#storage.list(options)
    return { ...page, items: await mapFew(page.items, (item) => this.#show(item)) }
  }

  create(key: string, object: KubeObject, options?: WriteOptions): Promise<StoredObject> {
    const write = async () =>
      this.#storage.create(key, await this.#conversion.toStorage(object), options)
    // Even an object that cannot be converted occupies its name (apiserver, registry/store.go).
    return this.#write(write, (error) => {
      if (error instanceof ApiError) return undefined
      throw error
    })
  }

  update(
    expected: StoredObject,
    object: KubeObject,
    options?: WriteOptions,
  ): Promise<StoredObject> {
    return this.#write(async () => {
      const written = await this.#conversion.toStorage(object)
      return this.#storage.update(this.#behind(expected), written, options)
    })
  }

  delete(expected: StoredObject): Promise<StoredObject> {
    return this.#write(() => this.#storage.delete(this.#behind(expected)))
  }

  /** Upstream compares what would be stored; a conversion there and back may lose something. */
  async isStoredAlike(current: StoredObject, object: KubeObject): Promise<boolean> {
    const stored = this.#behind(current)
    const written = await this.#conversion.toStorage(object)
    return this.#storage.isStoredAlike?.(stored, written) ?? sameContent(written, stored.object)
  }

  isStale(current: StoredObject): boolean | Promise<boolean> {
    return this.#storage.isStale?.(this.#behind(current)) ?? false
  }

  /** One object that the webhook does not convert is enough: upstream's cache of the version is never filled then. */
  notReady(): Promise<ApiError | undefined> | undefined {
    if (this.#isFilled) return undefined
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined
    })
    return this.#filling
  }

  async #fillIfEmpty(): Promise<void> {
    const first = { selection: { prefix: this.#prefix }, limit: 1 }
    const { items } = await this.#storage.list({ ...first, consistency: { kind: 'any' } })
    if (items.length === 0) await this.notReady()
  }

  async #fill(): Promise<ApiError | undefined> {
    const refusal = await this.#storage.notReady?.()
    if (refusal !== undefined) return refusal
    const all = { selection: { prefix: this.#prefix }, limit: 0 }
    const { items } = await this.#storage.list({ ...all, consistency: { kind: 'consistent' } })
    try {
      await mapFew(items, (item) => this.#show(item))
    } catch (error) {
      if (error instanceof ApiError) return this.#refusal.because(error.message)
      throw error
    }
    this.#isFilled = true
    return undefined
  }

  async asRead(object: KubeObject): Promise<KubeObject> {
    const stored = await this.#conversion.toStorage(object)
    return this.#conversion.fromStorage((await this.#storage.asRead?.(stored)) ?? stored)
  }

  async *watch(options: ObjectWatchOptions): AsyncIterable<ObjectEventBatch> {
    const { selection: given, signal } = options
    const { matches } = given
    const selected = matches && (await this.#selectedBefore(options, matches))
    const selection = unselected(given)
    for await (const batch of this.#storage.watch({ ...options, selection })) {
      const shown = await untilConverted(signal, () => this.#showBatch(batch))
      if (shown === undefined) return
      if (matches === undefined || selected === undefined) yield shown
      else
        yield { ...shown, events: shown.events.flatMap((e) => enter(selected, e, matches) ?? []) }
    }
  }

  whenReached(revision: number): Promise<void> | undefined {
    return this.#storage.whenReached?.(revision)
  }

  currentRevision(): number {
    return this.#storage.currentRevision()
  }

  /** What is stored, as this version shows it. */
  #show(stored: StoredObject): Promise<StoredObject> {
    let shown = this.#shown.get(stored)
    if (shown === undefined) {
      shown = this.#convert(stored)
      this.#shown.set(stored, shown)
      // The next reader asks the webhook again.
      shown.catch(() => this.#shown.delete(stored))
    }
    return shown
  }

  async #convert(stored: StoredObject): Promise<StoredObject> {
    const object = await this.#conversion.fromStorage(stored.object)
    if (object === stored.object) return stored
    object.metadata.resourceVersion = String(stored.revision)
    const shown = new MadeObject(stored, object)
    this.#storedBehind.set(shown, stored)
    return shown
  }

  async #showBatch(batch: ObjectEventBatch): Promise<ObjectEventBatch> {
    const events = await mapFew(
      batch.events,
      async (event): Promise<ObjectEvent> => ({ ...event, stored: await this.#show(event.stored) }),
    )
    return { ...batch, events }
  }

  #behind(shown: StoredObject): StoredObject {
    return this.#storedBehind.get(shown) ?? shown
  }

  async #write(
    write: () => Promise<StoredObject>,
    showFailed?: (error: unknown) => undefined,
  ): Promise<StoredObject> {
    try {
      return await this.#show(await write())
    } catch (error) {
      if (!(error instanceof WriteConflict) || error.current === undefined) throw error
      throw new WriteConflict(await this.#show(error.current).catch(showFailed))
    }
  }

  /** A selector is tried on what was converted. */
  async #select(options: ListOptions, matches: Matches): Promise<ListPage> {
    const selection = unselected(options.selection)
    const page = await this.#storage.list({ ...options, selection, limit: 0 })
    const items = (await mapFew(page.items, (item) => this.#show(item))).filter(matches)
    const { limit } = options
    if (limit === 0 || items.length <= limit) return { items, revision: page.revision }
    const kept = items.slice(0, limit)
    return { items: kept, revision: page.revision, nextKey: `${kept.at(-1)!.key}\0` }
  }

  /** A watch goes on from a compacted revision, if nothing has changed since: then the state is that of a later one. */
  #latestLike(revision: number): number {
    const storage = this.#storage
    return revision < (storage.lastChange?.() ?? Number.POSITIVE_INFINITY)
      ? revision
      : Math.max(revision, storage.currentRevision())
  }

  /** The objects that a watch with a selector has seen before its first event; none if it begins with ADDED events. */
  async #selectedBefore(
    { selection, after, sendInitialEvents }: ObjectWatchOptions,
    matches: Matches,
  ): Promise<Selected> {
    if (after === 'any' || sendInitialEvents === true) return new Map()
    const consistency: ReadConsistency =
      typeof after === 'number'
        ? { kind: 'exact', revision: this.#latestLike(after) }
        : { kind: 'consistent' }
    const { items } = await this.#select({ selection, consistency, limit: 0 }, matches)
    return new Map(items.map((item) => [item.key, item]))
  }
}
