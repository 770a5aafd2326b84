/**
 * One watch of a resource: a cursor into the shared ring, with no queue of its own. A consumer that does not ask for
 * the next batch holds nothing but its cursor; when it asks again it gets all that has come.
 *
 * Its life: the state as ADDED (when asked for), then history that the ring no longer holds, read from the driver, then
 * the ring.
 */
import assert from 'node:assert/strict'
import { behindOthers, Turn } from '#async/turns.js'
import { limits } from '#limits'
import type { ObjectEventBatch, ObjectWatchOptions } from './object-storage.js'
import type { ResourceCache, Waiter } from './resource-cache.js'
import type { StoredVersion } from './stored-version.js'
import { event } from './watch-event.js'

/** What a watcher needs of the cacher around its resource. */
export interface WatchSource {
  readonly cache: ResourceCache
  /** Revision up to which the cache has every change. */
  applied(): number
  now(): number
  /** Brings the cache to the state that `options` ask to start from. */
  prepare(options: ObjectWatchOptions): Promise<void>
  /** Changes after `cursor` from the driver's history. */
  cold(options: ObjectWatchOptions, cursor: number): AsyncIterator<ObjectEventBatch>
  /** Set when the cacher has ended: no more changes will come. */
  failure(): Error | undefined
}

/** Upstream sends a bookmark this long before the end of a watch. */
const bookmarkBeforeEndMs = 2_000
/** Upstream's time buckets let the first one wait for the second after the next. */
const bookmarkAfterStartMs = 1_000

const done: IteratorResult<ObjectEventBatch> = { value: undefined, done: true }

type Next = IteratorResult<ObjectEventBatch>

export class Watcher implements AsyncIterableIterator<ObjectEventBatch>, Waiter {
  readonly #source: WatchSource
  readonly #options: ObjectWatchOptions
  #cursor = 0
  /** The revision that it began with: upstream sends no bookmark for that one (cache_watcher.go, process). */
  #began = 0
  #prepared = false
  #initial: readonly StoredVersion[] | undefined
  #cold: AsyncIterator<ObjectEventBatch> | undefined
  #bookmarkAt: number
  readonly #lastBookmarkAt: number
  /** It has looked at much and not yet at all of it. */
  #isBehind = false
  #ended = false
  #pending: { resolve: (next: Next) => void; reject: (reason: Error) => void } | undefined

  constructor(source: WatchSource, options: ObjectWatchOptions) {
    this.#source = source
    this.#options = options
    this.#lastBookmarkAt =
      source.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY) - bookmarkBeforeEndMs
    // A watch with initial events gets a bookmark soon after them, however short it is.
    this.#bookmarkAt =
      options.sendInitialEvents === true
        ? source.now() + bookmarkAfterStartMs
        : this.#nextBookmark()
    // 'now' is the moment of the call, not of the first batch.
    if (options.after === 'now' && options.sendInitialEvents !== true) {
      this.#cursor = source.applied()
      this.#began = this.#cursor
      this.#prepared = true
    }
    options.signal.addEventListener('abort', this.#end, { once: true })
    if (options.signal.aborted) this.#end()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Next> {
    assert(this.#pending === undefined, 'one next at a time')
    if (this.#ended) return Promise.resolve(done)
    return this.#isSlow ? this.#slowNext() : this.#warmNext()
  }

  get #isSlow(): boolean {
    return !this.#prepared || this.#cold !== undefined || this.#isBehind
  }

  return(): Promise<Next> {
    this.#end()
    return Promise.resolve(done)
  }

  changed(): void {
    const pending = this.#pending
    if (pending === undefined) return
    try {
      const batch = this.#ready()
      if (this.#isSlow) {
        const { resolve, reject } = this.#settle()
        this.#slowNext().then(resolve, reject)
      }
      if (batch === undefined) return
      this.#settle().resolve({ value: batch, done: false })
    } catch (error) {
      this.#settle().reject(error as Error)
      this.#end()
    }
  }

  /** Hands over a bookmark to a watcher that has waited long enough for one. */
  bookmark(now: number): void {
    if (this.#pending === undefined || !this.#prepared || now < this.#bookmarkAt) return
    // Events that have come and are not sent yet go first: a bookmark would skip them.
    if (this.#cursor < this.#source.cache.lastChange) return
    this.#bookmarkAt = this.#nextBookmark()
    const revision = Math.max(this.#cursor, this.#source.applied())
    if (revision <= this.#began) return
    this.#cursor = revision
    this.#settle().resolve({ value: { revision: this.#cursor, events: [] }, done: false })
  }

  #settle() {
    const pending = this.#pending!
    this.#pending = undefined
    this.#source.cache.forget(this)
    return pending
  }

  readonly #end = () => {
    if (this.#ended) return
    this.#ended = true
    this.#initial = undefined
    this.#options.signal.removeEventListener('abort', this.#end)
    void this.#cold?.return?.()
    if (this.#pending !== undefined) this.#settle().resolve(done)
  }

  async #slowNext(): Promise<Next> {
    try {
      if (!this.#prepared) await this.#prepare()
      if (this.#isBehind) await new Turn().next()
      this.#isBehind = false
      while (this.#cold !== undefined && !this.#ended) {
        const { value, done: over } = await this.#cold.next()
        if (over) break
        const batch = value
        this.#cursor = Math.max(this.#cursor, batch.revision)
        if (this.#cursor >= this.#source.cache.floor) this.#leaveHistory()
        if (batch.events.length > 0) return { value: batch, done: false }
      }
    } catch (error) {
      this.#end()
      throw error
    }
    return this.#ended ? done : this.#warmNext()
  }

  #warmNext(): Promise<Next> {
    try {
      const batch = this.#ready()
      if (batch !== undefined) return Promise.resolve({ value: batch, done: false })
    } catch (error) {
      this.#end()
      return Promise.reject(error)
    }
    if (this.#isSlow) return this.#slowNext()
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#source.cache.wait(this)
    })
  }

  /** The batch that is ready now, if any. Throws when the watch cannot go on. */
  #ready(): ObjectEventBatch | undefined {
    const failure = this.#source.failure()
    if (failure !== undefined) throw failure
    if (this.#initial !== undefined) return this.#nextInitial()
    const { cache } = this.#source
    if (this.#cursor < cache.floor) {
      this.#cold = this.#source.cold(this.#options, this.#cursor)
      return undefined
    }
    const applied = this.#source.applied()
    const batch = cache.batchAfter(this.#options.selection, this.#cursor, applied)
    // Events that the selection skipped count as seen.
    this.#cursor = Math.max(this.#cursor, batch?.revision ?? applied)
    this.#isBehind = batch?.events.length === 0
    return this.#isBehind ? undefined : batch
  }

  async #prepare(): Promise<void> {
    const { after, sendInitialEvents, selection } = this.#options
    await this.#source.prepare(this.#options)
    if (after === 'any' || sendInitialEvents === true) {
      const { cache } = this.#source
      await cache.prepare(selection)
      // The search takes turns, and shows the state with which it began.
      this.#cursor = this.#source.applied()
      this.#initial = (await cache.selectInTurns(selection, '', 0)).items
    } else if (after !== 'now') {
      this.#cursor = after
      // After a break of the network all clients come at once.
      if (this.#source.cache.isFarBehind(after)) await behindOthers()
    }
    this.#prepared = true
    this.#began = this.#cursor
  }

  #nextInitial(): ObjectEventBatch | undefined {
    const initial = this.#initial!
    const events = []
    let bytes = 0
    let taken = 0
    while (taken < initial.length && bytes < limits.watchBatchBytesMax) {
      const version = initial[taken++]!
      bytes += version.size
      events.push(event('ADDED', version, version.revision))
    }
    this.#initial = initial.slice(taken)
    if (events.length > 0) return { revision: this.#cursor, events, isInitial: true }
    this.#initial = undefined
    return this.#options.sendInitialEvents === true
      ? { revision: this.#cursor, events, initialEventsEnd: true }
      : this.#ready()
  }

  #leaveHistory(): void {
    void this.#cold?.return?.()
    this.#cold = undefined
  }

  #nextBookmark(): number {
    const now = this.#source.now()
    const regular = now + limits.bookmarkIntervalMs
    return this.#lastBookmarkAt > now ? Math.min(regular, this.#lastBookmarkAt) : regular
  }
}
