/**
 * The watch cache in front of a storage driver: the whole state in memory, kept up by one watch of the driver.
 *
 * A write goes to the driver and returns when its own event has come back, so that whoever wrote can read it here. A
 * store that nobody else writes to is therefore always fresh; a shared one is asked for its head revision before a
 * consistent read, which then waits for the cache to get there.
 */

import type { Clock } from '#api/clock.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import { type EventBatch, type StorageDriver, StorageError } from '#storage/driver.js'
import {
  changesOf,
  ObjectWriter,
  type UpstreamValueOf,
  versionOf,
  watchDriver,
} from './direct-storage.js'
import { History } from './history.js'
import type { ObjectStorage, ObjectWatchOptions } from './object-storage.js'
import { Progress } from './progress.js'
import { ResourceCache } from './resource-cache.js'
import type { SelectableFields } from './resource-indexes.js'
import { type FollowedStore, makeResourceStorage } from './resource-storage.js'
import { makeWorkingSets, type ReadForeign, type WorkingSets } from './stored-version.js'
import { UnclaimedObjects } from './unclaimed-objects.js'
import { Change } from './watch-event.js'
import type { WatchSource } from './watcher.js'

interface CacherOptions {
  readonly driver: StorageDriver
  readonly clock: Clock
  /** Reads stored values that are not JSON. */
  readonly readForeign?: ReadForeign
  /** What is too large for kube-apiserver to store is refused. Missing: nothing is. */
  readonly upstreamValueOf?: UpstreamValueOf
  /** Told when the cache has lost its watch of the driver. */
  readonly log?: (message: string, error?: unknown) => void
}

interface ResourceOptions {
  /** `/registry/pods/`: ends in a slash. */
  readonly prefix: string
  /** Selectable fields besides metadata.name and metadata.namespace; a list that names one uses an index. */
  readonly fields?: SelectableFields
  /** Upstream's name of the type of its objects, which an answer may tell: `*core.Pod`. */
  readonly typeName?: string
  /** False for what upstream keeps no watch cache of: a version that is yet to come is refused at once. */
  readonly awaitsFuture?: boolean
}

/** How much is stored of one resource. */
export interface StoredSize {
  readonly objects: number
  readonly bytes: number
}

interface Cacher {
  /** The object storage of one resource; the same one for the same prefix. */
  forResource(options: ResourceOptions): ObjectStorage
  currentRevision(): number
  /** How much there is under a prefix that `forResource` was called with. */
  sizeOf(prefix: string): StoredSize
  /** Resolves when a write that is done has come back; an event of a shared store may be held up on its way. */
  follow(revision: number): Promise<void>
  /** Undefined while the store is followed, else one line that says what is wrong. */
  health(): string | undefined
  /** Ends every watch. The driver stays open: its opener closes it. */
  close(): Promise<void>
}

/** What every key of the cacher starts with. */
const registryPrefix = '/registry/'
const retryDelayMs = 250
const tickMs = 1_000

/** Reads the whole state, then follows it. */
export const makeCacher = async (options: CacherOptions): Promise<Cacher> => {
  const cacher = new WatchCache(options)
  await cacher.load()
  cacher.start()
  return cacher
}

class WatchCache implements Cacher, FollowedStore {
  readonly driver: StorageDriver
  readonly sets: WorkingSets
  readonly writer: ObjectWriter
  readonly #changeOf: ReturnType<typeof changesOf>
  readonly #clock: Clock
  readonly #log: (message: string, error?: unknown) => void
  readonly #resources = new Map<string, { cache: ResourceCache; storage: ObjectStorage }>()
  #history = new History()
  #unclaimed: UnclaimedObjects
  readonly #progress = new Progress()
  #freshening: Promise<void> | undefined
  #trouble: string | undefined
  readonly #stop = new AbortController()
  #following: Promise<void> = Promise.resolve()
  #tick: NodeJS.Timeout | undefined

  constructor({ driver, clock, log = () => {}, readForeign, upstreamValueOf }: CacherOptions) {
    this.driver = driver
    this.#clock = clock
    this.#log = log
    this.sets = makeWorkingSets(limits.decodedObjectsBytesMax, readForeign)
    this.#changeOf = changesOf(this.sets)
    this.#unclaimed = new UnclaimedObjects(registryPrefix, this.sets)
    this.writer = new ObjectWriter(driver, this.sets, upstreamValueOf)
  }

  /** Before anyone asks for a resource. */
  async load(): Promise<void> {
    const { kvs, revision } = await this.driver.range({ prefix: registryPrefix })
    for (const kv of kvs) this.#unclaimed.add(kv)
    this.#progress.moveTo(revision)
  }

  start(): void {
    this.#following = this.#follow()
    this.#tick = setInterval(() => this.#everySecond(), tickMs)
    this.#tick.unref()
  }

  forResource(options: ResourceOptions): ObjectStorage {
    const { prefix, fields = {}, typeName = '', awaitsFuture = true } = options
    const found = this.#resources.get(prefix)
    if (found !== undefined) return found.storage
    const cache = new ResourceCache(
      prefix,
      fields,
      this.#progress.revision,
      this.#unclaimed.take(prefix),
    )
    if (this.#unclaimed.hasUnreadable) cache.setApart()
    const storage = makeResourceStorage(this, cache, { typeName, awaitsFuture })
    this.#resources.set(prefix, { cache, storage })
    return storage
  }

  currentRevision(): number {
    return this.#progress.revision
  }

  sizeOf(prefix: string): StoredSize {
    const { size, bytes } = this.#resources.get(prefix)!.cache
    return { objects: size, bytes }
  }

  health(): string | undefined {
    return this.#trouble
  }

  async close(): Promise<void> {
    if (this.#progress.failure !== undefined) return
    this.#fail(new StorageError('Closed', 'the watch cache is closed'))
    await this.#following
  }

  async reach(revision: number, awaitsFuture: boolean): Promise<void> {
    if (!awaitsFuture) await this.fresh()
    await this.#progress.waitFor(revision, awaitsFuture ? limits.futureRevisionWaitMs : 0)
  }

  follow(revision: number): Promise<void> {
    if (!this.driver.shared) return this.#progress.waitFor(revision)
    return this.#progress.waitFor(revision, limits.consistentReadWaitMs).catch((error) => {
      if (!(error instanceof StorageError) || error.code !== 'FutureRevision') throw error
    })
  }

  fresh(): Promise<void> | undefined {
    if (!this.driver.shared) {
      if (this.#progress.failure !== undefined) throw this.#progress.failure
      return undefined
    }
    return this.#askHead()
  }

  watchSource(cache: ResourceCache, awaitsFuture: boolean): WatchSource {
    return {
      cache,
      applied: () => this.#progress.revision,
      now: () => this.#clock.now(),
      failure: () => this.#progress.failure,
      prepare: (asked) => this.#prepareWatch(asked, awaitsFuture),
      cold: ({ selection, signal }, after) =>
        watchDriver(
          this.driver,
          { selection, after, signal },
          { changeOf: this.#changeOf, fields: cache.fields },
        ),
    }
  }

  async #prepareWatch(
    { after, sendInitialEvents }: ObjectWatchOptions,
    awaitsFuture: boolean,
  ): Promise<void> {
    if (after === 'now') await this.fresh()
    else if (sendInitialEvents === true && after !== 'any') await this.reach(after, awaitsFuture)
  }

  /** One question to the store serves everyone who asked before it was sent. */
  async #askHead(): Promise<void> {
    await Promise.resolve()
    this.#freshening ??= (async () => {
      await Promise.resolve()
      this.#freshening = undefined
      const head = await this.driver.headRevision()
      await this.#progress.waitFor(head, limits.consistentReadWaitMs)
    })()
    return this.#freshening
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const watch = { prefix: registryPrefix, after: this.#progress.revision, signal }
        for await (const batch of this.driver.watch(watch)) {
          this.#trouble = undefined
          this.#apply(batch)
        }
      } catch (error) {
        if (signal.aborted) return
        this.#trouble = `watch of the store: ${(error as Error).message}`
        this.#log('the watch cache lost the store', error)
        if (error instanceof StorageError && error.code === 'Closed') return this.#fail(error)
        await this.#recover(error)
      }
    }
  }

  async #recover(error: unknown): Promise<void> {
    const { signal } = this.#stop
    await sleep(retryDelayMs, signal)
    if (signal.aborted || !(error instanceof StorageError) || error.code !== 'Compacted') return
    try {
      await this.#reload()
    } catch (failed) {
      this.#log('the watch cache cannot read the store', failed)
    }
  }

  /**
   * After a watch that missed history (Compacted): reads the whole state again. Watchers of the old state end with 410.
   */
  async #reload(): Promise<void> {
    const range = await this.driver.range({ prefix: registryPrefix })
    for (const { cache } of this.#resources.values()) cache.reset(range.revision)
    this.#unclaimed = new UnclaimedObjects(registryPrefix, this.sets)
    this.#history = new History()
    for (const kv of range.kvs) {
      const cache = this.#cacheOf(kv.key)
      if (cache === undefined) this.#unclaimed.add(kv)
      else cache.load(versionOf(kv, this.sets))
    }
    this.#progress.moveTo(range.revision)
    // Each watcher asks the driver for the events it missed and gets Compacted, which ends it.
    for (const { cache } of this.#resources.values()) {
      for (const waiter of cache.waiters()) waiter.changed()
    }
  }

  #apply({ events, revision }: EventBatch): void {
    const now = this.#clock.now()
    for (const event of events) {
      const cache = this.#cacheOf(event.key)
      const current = event.value && versionOf(event.value, this.sets)
      if (current !== undefined) {
        const written = this.writer.take(current.value)
        if (written !== undefined) current.adopt(written)
      }
      if (cache === undefined) {
        this.#unclaimed.set(event.key, current)
        continue
      }
      const previous =
        cache.get(event.key) ?? (event.previous && versionOf(event.previous, this.sets))
      const change = new Change(event.revision, current, previous)
      cache.apply(change)
      previous?.overwritten()
      this.#history.add(cache, change, now)
    }
    this.#history.trim(now)
    this.#progress.moveTo(revision)
  }

  #everySecond(): void {
    const now = this.#clock.now()
    this.#history.trim(now)
    for (const { cache } of this.#resources.values()) {
      for (const waiter of cache.waiters()) waiter.bookmark(now)
    }
  }

  /** The resource of a key: its first folder under the prefix, or the first two (`/registry/GROUP/PLURAL/`). */
  #cacheOf(key: string): ResourceCache | undefined {
    let slash = registryPrefix.length - 1
    for (let folders = 0; folders < 2; folders++) {
      slash = key.indexOf('/', slash + 1)
      if (slash < 0) return undefined
      const found = this.#resources.get(key.slice(0, slash + 1))
      if (found !== undefined) return found.cache
    }
    return undefined
  }

  #fail(error: Error): void {
    this.#progress.fail(error)
    this.#stop.abort()
    clearInterval(this.#tick)
    for (const { cache } of this.#resources.values()) cache.close()
  }
}
