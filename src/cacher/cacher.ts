/**
 * The watch cache in front of a storage driver: the whole state in memory, kept up by one watch of the driver.
 *
 * A write goes to the driver and returns when its own event has come back, so that whoever wrote can read it here. A
 * store that nobody else writes to is therefore always fresh; a shared one is asked for its head revision before a
 * consistent read, which then waits for the cache to get there.
 */
import type { Clock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import {
  type EventBatch,
  type KeyValue,
  type StorageDriver,
  StorageError,
} from '#storage/driver.js'
import { SortedMap } from '#storage/sorted-map.js'
import { ObjectWriter, versionOf, watchDriver } from './direct-storage.js'
import type { ObjectStorage, ObjectWatchOptions } from './object-storage.js'
import { ResourceCache, type SelectableFields } from './resource-cache.js'
import { makeResourceStorage } from './resource-storage.js'
import { makeWorkingSets, type StoredVersion, type WorkingSets } from './stored-version.js'
import { Change } from './watch-event.js'
import { Watcher } from './watcher.js'

export interface CacherOptions {
  readonly driver: StorageDriver
  readonly clock: Clock
  /** What every key of the cacher starts with; default `/registry/`. */
  readonly prefix?: string
  /** Told when the cache lost its watch of the driver, and when it has it again. */
  readonly log?: (message: string, error?: unknown) => void
}

export interface ResourceOptions {
  /** `/registry/pods/`: ends in a slash. */
  readonly prefix: string
  /** Selectable fields beside metadata.name and metadata.namespace; a list that names one uses an index. */
  readonly fields?: SelectableFields
}

export interface Cacher {
  /** The object storage of one resource; the same one for the same prefix. */
  forResource(options: ResourceOptions): ObjectStorage
  currentRevision(): number
  /** Undefined while the store is followed, else one line that says what is wrong. */
  health(): string | undefined
  /** Ends every watch. The driver stays open: its opener closes it. */
  close(): Promise<void>
}

const retryDelayMs = 250
const tickMs = 1_000

/** Reads the whole state, then follows it. */
export const makeCacher = async (options: CacherOptions): Promise<Cacher> => {
  const cacher = new WatchCache(options)
  await cacher.load()
  cacher.start()
  return cacher
}

export class WatchCache implements Cacher {
  readonly driver: StorageDriver
  readonly sets: WorkingSets
  readonly writer: ObjectWriter
  readonly #clock: Clock
  readonly #prefix: string
  readonly #log: (message: string, error?: unknown) => void
  readonly #resources = new Map<string, { cache: ResourceCache; storage: ObjectStorage }>()
  /** Objects of resources that nobody has asked for yet, by their first folder. */
  #loose = new Map<string, SortedMap<StoredVersion>>()
  /** What was there when the store was opened, by the same folder, until somebody looks into it. */
  #found = new Map<string, KeyValue[]>()
  /** Objects as they were encoded, until their event comes back. */
  readonly #encoded = new WeakMap<Buffer, KubeObject>()
  /** Rings in the order of their changes, with the time of each: what is too old or too much goes from the front. */
  #order: { cache: ResourceCache; bytes: number; at: number }[] = []
  #orderFirst = 0
  #ringBytes = 0
  #applied = 0
  #waiting: { revision: number; resolve: () => void; reject: (reason: Error) => void }[] = []
  #freshening: Promise<void> | undefined
  #trouble: string | undefined
  #failure: Error | undefined
  readonly #stop = new AbortController()
  #following: Promise<void> = Promise.resolve()
  #tick: NodeJS.Timeout | undefined

  constructor({ driver, clock, prefix = '/registry/', log = () => {} }: CacherOptions) {
    this.driver = driver
    this.#clock = clock
    this.#prefix = prefix
    this.#log = log
    this.sets = makeWorkingSets(limits.decodedObjectsBytesMax, limits.objectTextsBytesMax)
    this.writer = new ObjectWriter(driver, this.sets, (value, object) => {
      this.#encoded.set(value, object)
    })
  }

  /** Before anyone asks for a resource. */
  async load(): Promise<void> {
    const { kvs, revision } = await this.driver.range({ prefix: this.#prefix })
    for (const kv of kvs) {
      const folder = this.#folderOf(kv.key)
      const values = this.#found.get(folder)
      if (values === undefined) this.#found.set(folder, [kv])
      else values.push(kv)
    }
    this.#moveTo(revision)
  }

  start(): void {
    this.#following = this.#follow()
    this.#tick = setInterval(() => this.#everySecond(), tickMs)
    this.#tick.unref()
  }

  forResource({ prefix, fields = {} }: ResourceOptions): ObjectStorage {
    const found = this.#resources.get(prefix)
    if (found !== undefined) return found.storage
    const cache = new ResourceCache(prefix, fields, this.#applied, this.#takeLoose(prefix))
    const storage = makeResourceStorage(this, cache)
    this.#resources.set(prefix, { cache, storage })
    return storage
  }

  #folderOf(key: string): string {
    return key.slice(0, key.indexOf('/', this.#prefix.length) + 1)
  }

  #looseIn(folder: string): SortedMap<StoredVersion> {
    let objects = this.#loose.get(folder)
    if (objects === undefined) {
      this.#loose.set(folder, (objects = new SortedMap()))
      for (const kv of this.#found.get(folder) ?? []) objects.set(kv.key, versionOf(kv, this.sets))
      this.#found.delete(folder)
    }
    return objects
  }

  #looseFor(key: string): SortedMap<StoredVersion> {
    return this.#looseIn(this.#folderOf(key))
  }

  #takeLoose(prefix: string): SortedMap<StoredVersion> {
    if (this.#loose.has(prefix) || this.#found.has(prefix)) {
      const folder = this.#looseIn(prefix)
      this.#loose.delete(prefix)
      return folder
    }
    const objects = new SortedMap<StoredVersion>()
    const around = this.#looseFor(prefix)
    around.scan(prefix, prefix, (version, key) => objects.set(key, version))
    objects.scan(prefix, prefix, (_, key) => around.delete(key))
    return objects
  }

  currentRevision(): number {
    return this.#applied
  }

  now(): number {
    return this.#clock.now()
  }

  failure(): Error | undefined {
    return this.#failure
  }

  health(): string | undefined {
    return this.#trouble
  }

  async close(): Promise<void> {
    if (this.#failure !== undefined) return
    this.#fail(new StorageError('Closed', 'the watch cache is closed'))
    await this.#following
  }

  /** Resolves when every change up to `revision` is here. Without `timeoutMs` it waits as long as it takes. */
  waitFor(revision: number, timeoutMs?: number): Promise<void> {
    if (this.#applied >= revision) return Promise.resolve()
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const waiter = { revision, resolve, reject }
      this.#waiting.push(waiter)
      if (timeoutMs === undefined) return
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
        const message = `revision ${revision} has not come, the newest is ${this.#applied}`
        reject(new StorageError('FutureRevision', message, { revision: this.#applied }))
      }, timeoutMs)
      waiter.resolve = () => {
        clearTimeout(timer)
        resolve()
      }
      waiter.reject = (reason) => {
        clearTimeout(timer)
        reject(reason)
      }
    })
  }

  /** Resolves when a write that is done has come back; an event of a shared store may be held up on its way. */
  follow(revision: number): Promise<void> {
    if (!this.driver.shared) return this.waitFor(revision)
    return this.waitFor(revision, limits.consistentReadWaitMs).catch((error) => {
      if (!(error instanceof StorageError) || error.code !== 'FutureRevision') throw error
    })
  }

  /** Resolves when every write that was acknowledged before this call is here. */
  fresh(): Promise<void> | undefined {
    if (!this.driver.shared) {
      if (this.#failure !== undefined) throw this.#failure
      return undefined
    }
    return this.#askHead()
  }

  watch(cache: ResourceCache, options: ObjectWatchOptions): Watcher {
    return new Watcher(
      {
        cache,
        applied: () => this.#applied,
        now: () => this.#clock.now(),
        failure: () => this.#failure,
        prepare: (asked) => this.#prepareWatch(asked),
        cold: ({ selection, signal }, after) =>
          watchDriver(this.driver, { selection, after, signal }, this.sets),
      },
      options,
    )
  }

  async #prepareWatch({ after, sendInitialEvents }: ObjectWatchOptions): Promise<void> {
    if (after === 'now') await this.fresh()
    else if (sendInitialEvents === true && after !== 'any') {
      await this.waitFor(after, limits.futureRevisionWaitMs)
    }
  }

  /** One question to the store serves everyone who asked before it was sent. */
  async #askHead(): Promise<void> {
    await Promise.resolve()
    this.#freshening ??= (async () => {
      await Promise.resolve()
      this.#freshening = undefined
      const head = await this.driver.headRevision()
      await this.waitFor(head, limits.consistentReadWaitMs)
    })()
    return this.#freshening
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const watch = { prefix: this.#prefix, after: this.#applied, signal }
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
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryDelayMs)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
    if (signal.aborted || !(error instanceof StorageError) || error.code !== 'Compacted') return
    try {
      await this.#reload()
    } catch (failed) {
      this.#log('the watch cache cannot read the store', failed)
    }
  }

  /** The driver's history went on without us: the state is read again and watchers start anew (410). */
  async #reload(): Promise<void> {
    const range = await this.driver.range({ prefix: this.#prefix })
    for (const { cache } of this.#resources.values()) cache.reset(range.revision)
    this.#loose = new Map()
    this.#found = new Map()
    this.#order = []
    this.#orderFirst = 0
    this.#ringBytes = 0
    for (const kv of range.kvs) {
      const cache = this.#cacheOf(kv.key)
      const version = versionOf(kv, this.sets)
      if (cache === undefined) this.#looseFor(kv.key).set(kv.key, version)
      else cache.load(version)
    }
    this.#moveTo(range.revision)
    // Each watcher asks the driver for what it missed, and ends with its Compacted.
    for (const { cache } of this.#resources.values()) {
      for (const waiter of cache.waiters()) waiter.changed()
    }
  }

  #apply({ events, revision }: EventBatch): void {
    for (const event of events) {
      const cache = this.#cacheOf(event.key)
      const current = event.value && versionOf(event.value, this.sets)
      if (current !== undefined) {
        const object = this.#encoded.get(current.value)
        if (object !== undefined) {
          current.adopt(object)
          // The value lives on: left here, the object would be held for as long.
          this.#encoded.delete(current.value)
        }
      }
      if (cache === undefined) {
        if (current === undefined) this.#looseFor(event.key).delete(event.key)
        else this.#looseFor(event.key).set(event.key, current)
        continue
      }
      const previous =
        cache.get(event.key) ?? (event.previous && versionOf(event.previous, this.sets))
      const change = new Change(event.revision, current, previous)
      cache.apply(change)
      previous?.overwritten()
      this.#order.push({ cache, bytes: change.size, at: this.#clock.now() })
      this.#ringBytes += change.size
    }
    this.#trim()
    this.#moveTo(revision)
  }

  #moveTo(revision: number): void {
    this.#applied = Math.max(this.#applied, revision)
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const waiter of waiting) {
      if (waiter.revision <= this.#applied) waiter.resolve()
      else this.#waiting.push(waiter)
    }
  }

  #trim(): void {
    const oldest = this.#clock.now() - limits.watchHistoryMs
    while (this.#orderFirst < this.#order.length) {
      const { cache, bytes, at } = this.#order[this.#orderFirst]!
      if (this.#ringBytes <= limits.watchHistoryBytesMax && at >= oldest) break
      cache.dropOldest()
      this.#ringBytes -= bytes
      this.#orderFirst++
    }
    if (this.#orderFirst > 4096 && this.#orderFirst * 2 > this.#order.length) {
      this.#order = this.#order.slice(this.#orderFirst)
      this.#orderFirst = 0
    }
  }

  #everySecond(): void {
    this.#trim()
    const now = this.#clock.now()
    for (const { cache } of this.#resources.values()) {
      for (const waiter of cache.waiters()) waiter.bookmark(now)
    }
  }

  /** The resource of a key: its first folder under the prefix, or the first two (`/registry/GROUP/PLURAL/`). */
  #cacheOf(key: string): ResourceCache | undefined {
    let slash = this.#prefix.length - 1
    for (let folders = 0; folders < 2; folders++) {
      slash = key.indexOf('/', slash + 1)
      if (slash < 0) return undefined
      const found = this.#resources.get(key.slice(0, slash + 1))
      if (found !== undefined) return found.cache
    }
    return undefined
  }

  #fail(error: Error): void {
    this.#failure = error
    this.#stop.abort()
    clearInterval(this.#tick)
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting = []
    for (const { cache } of this.#resources.values()) cache.close()
  }
}
