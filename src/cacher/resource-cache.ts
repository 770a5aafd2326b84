/** The watch cache of one resource: its objects in key order, its recent changes, its indexes and its watchers. */
import { Turn } from '#async/turns.js'
import { limits } from '#limits'
import { EventLog } from '#storage/event-log.js'
import { type Entry, rangeOf, type SortedMap } from '#storage/sorted-map.js'
import type { ObjectEvent, ObjectEventBatch, Selection } from './object-storage.js'
import { ResourceIndexes, type SelectableFields } from './resource-indexes.js'
import type { StoredVersion } from './stored-version.js'
import type { Change } from './watch-event.js'

/** A watcher that waits for the next change. */
export interface Waiter {
  /** Called when changes have come: once in a turn, however many there were. */
  changed(): void
  /** Called now and then: hands over a bookmark when one is due. `now` in ms since the epoch. */
  bookmark(now: number): void
}

/** The first part of a list: what it shows, and whether keys are left under the prefix. */
export interface Selected {
  readonly items: readonly StoredVersion[]
  readonly more: boolean
  /** Whether the very same array was returned before. */
  readonly isSame?: boolean
}

/** Changes that a watcher looks at before it looks at the clock. */
const changesAtOnce = 64

export class ResourceCache {
  readonly prefix: string
  readonly fields: SelectableFields
  readonly #objects: SortedMap<StoredVersion>
  /** Objects that cannot be decrypted; they are in none of the other collections. */
  readonly #unreadable = new Map<string, StoredVersion>()
  readonly #ring = new EventLog<Change>((change) => change.size)
  readonly #indexes: ResourceIndexes
  readonly #waiters = new Set<Waiter>()
  /** Batches that watchers without a selector share, by prefix and cursor; valid until the next change. */
  readonly #shared = new Map<string, ObjectEventBatch | undefined>()
  /** Resolves when the waiters have been told of the changes that have come; undefined when there is nothing to tell. */
  #telling: Promise<void> | undefined
  /** The ring holds every change after this revision. */
  #floor: number
  #lastChange: number
  /** Bytes of all objects; undefined until somebody asks. */
  #bytes: number | undefined

  /** `floor`: the revision whose state `objects` is. */
  constructor(
    prefix: string,
    fields: SelectableFields,
    floor: number,
    objects: SortedMap<StoredVersion>,
  ) {
    this.prefix = prefix
    this.fields = fields
    this.#objects = objects
    this.#indexes = new ResourceIndexes(fields, objects)
    this.#floor = floor
    this.#lastChange = floor
  }

  /** Empty, unless something cannot be decrypted. */
  get unreadable(): ReadonlyMap<string, StoredVersion> {
    return this.#unreadable
  }

  get floor(): number {
    return this.#floor
  }
  /** Revision of the newest change here: the state has been the same since. */
  get lastChange(): number {
    return this.#lastChange
  }

  get size(): number {
    return this.#objects.size
  }
  /** Bytes of all objects. */
  get bytes(): number {
    if (this.#bytes === undefined) {
      let bytes = 0
      this.#objects.scan(this.prefix, this.prefix, ({ size }) => {
        bytes += size
      })
      this.#bytes = bytes
    }
    return this.#bytes
  }

  get(key: string): StoredVersion | undefined {
    return this.#objects.get(key)
  }

  load(version: StoredVersion): void {
    this.#put(version.key, version)
    this.#bytes = undefined
  }

  /** Sets apart the unreadable ones among the objects that were there before anyone asked for this resource. */
  setApart(): void {
    const found: StoredVersion[] = []
    this.#objects.scan(this.prefix, this.prefix, (version) => {
      if (version.why !== undefined) found.push(version)
      return true
    })
    for (const version of found) this.#put(version.key, version)
  }

  /** A version that could not be read before and now can. Ignored if the object was written meanwhile. */
  recover(version: StoredVersion): void {
    if (this.#unreadable.get(version.key)?.revision === version.revision) this.load(version)
  }

  apply(change: Change): void {
    const { key, current, previous } = change
    if (this.#bytes !== undefined) this.#bytes += (current?.size ?? 0) - (previous?.size ?? 0)
    this.#put(key, current)
    this.#ring.append(change)
    this.#lastChange = change.revision
    // `clear` of a large Map allocates a new table, even where it is empty.
    if (this.#shared.size > 0) this.#shared.clear()
    if (this.#waiters.size > 0) this.#tellBehindAnswers()
  }

  /** Drops the oldest change of the ring. */
  dropOldest(): void {
    const change = this.#ring.shift()
    if (change !== undefined) this.#floor = Math.max(this.#floor, change.revision)
  }

  /** Drops everything: the driver's history went on without us. The changes between are unknown. */
  reset(floor: number): void {
    while (this.#ring.length > 0) this.#ring.shift()
    const keys: string[] = []
    this.#objects.scan(this.prefix, this.prefix, (_, key) => void keys.push(key))
    for (const key of keys) this.#objects.delete(key)
    this.#unreadable.clear()
    this.#indexes.clear()
    this.#shared.clear()
    this.#bytes = undefined
    this.#floor = floor
    this.#lastChange = floor
  }

  wait(waiter: Waiter): void {
    this.#waiters.add(waiter)
  }

  forget(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  waiters(): Iterable<Waiter> {
    return [...this.#waiters]
  }

  /** Resolves when the waiters have been told of all that has come until now. */
  get told(): Promise<void> | undefined {
    return this.#telling
  }

  close(): void {
    this.#tell()
  }

  /**
   * What a watcher at `cursor` gets next; undefined when nothing that it may see has come. `upTo` is the revision that
   * the cache stands at. Watchers of the same view at the same cursor get the very same batch. One without events ends
   * where the watcher has to let others have their turn.
   */
  batchAfter(selection: Selection, cursor: number, upTo: number): ObjectEventBatch | undefined {
    if (cursor >= this.#lastChange) return undefined
    if (selection.matches !== undefined || selection.key !== undefined) {
      return this.#collect(selection, cursor, upTo)
    }
    const name = `${cursor} ${selection.prefix}`
    if (this.#shared.has(name)) return this.#shared.get(name)
    const batch = this.#collect(selection, cursor, upTo)
    this.#shared.set(name, batch)
    return batch
  }

  /** Whether much has happened since `cursor`. */
  isFarBehind(cursor: number): boolean {
    return this.#ring.length - this.#ring.indexAfter(cursor) > changesAtOnce
  }

  #put(key: string, version: StoredVersion | undefined): void {
    const isReadable = version !== undefined && version.why === undefined
    const entry = isReadable ? this.#objects.set(key, version) : this.#objects.delete(key)
    if (entry !== undefined) this.#indexes.set(entry, isReadable ? version : undefined)
    if (isReadable && this.#unreadable.size === 0) return
    if (version !== undefined && !isReadable) this.#unreadable.set(key, version)
    else if (!this.#unreadable.delete(key)) return
    this.#bytes = undefined
  }

  #collect(selection: Selection, cursor: number, upTo: number): ObjectEventBatch | undefined {
    const events: ObjectEvent[] = []
    let bytes = 0
    let revision = cursor
    let turn: Turn | undefined
    for (let i = this.#ring.indexAfter(cursor); i < this.#ring.length; i++) {
      const change = this.#ring.at(i)
      // A batch ends between revisions only, since a cursor cannot stand inside one.
      const mayEnd = change.revision > revision
      if (mayEnd && (bytes > limits.watchBatchBytesMax || turn?.isOver)) return { revision, events }
      // The clock is looked at by those alone who have much behind them.
      if (i % changesAtOnce === 0) turn ??= new Turn()
      revision = change.revision
      const seen = change.seenBy(selection, this.fields)
      if (seen === undefined) continue
      events.push(seen)
      bytes += (change.current ?? change.previous)!.size
    }
    return events.length === 0 ? undefined : { revision: upTo, events }
  }

  /** Makes the indexes that make `select` quick; undefined when they are there, or none applies. */
  prepare(selection: Selection): Promise<unknown> | undefined {
    return selection.key === undefined ? this.#indexes.prepare(selection) : undefined
  }

  /** Objects in key order from `start` on, at most `limit` (0: no bound). */
  select(selection: Selection, start: string, limit: number): Selected {
    if (selection.key !== undefined) return this.#selectKey(selection, selection.key, start)
    if (selection.isOnePair === true && limit === 0 && start === '') {
      const listed = this.#indexes.listPair(selection)
      if (listed !== undefined) return { items: listed.values, more: false, isSame: listed.isSame }
    }
    const entries = this.#indexes.narrow(selection)
    return entries === undefined
      ? this.#selectByScan(selection, start, limit)
      : this.#selectFrom(entries, selection, { start, limit })
  }

  /** The same, of the state at the call. A search through many objects yields to others in between. */
  selectInTurns(selection: Selection, start: string, limit: number): Selected | Promise<Selected> {
    const { key, matches } = selection
    if (matches === undefined || key !== undefined || this.#indexes.narrow(selection) !== undefined)
      return this.select(selection, start, limit)
    return this.#matchInTurns(selection.prefix, matches, { start, limit })
  }

  async #matchInTurns(
    prefix: string,
    matches: (version: StoredVersion) => boolean,
    { start, limit }: { start: string; limit: number },
  ): Promise<Selected> {
    const candidates: StoredVersion[] = []
    this.#objects.scan(prefix, start, (version) => void candidates.push(version))
    const items: StoredVersion[] = []
    const turn = new Turn()
    for (const version of candidates) {
      if (limit > 0 && items.length === limit) return { items, more: true }
      if (matches(version)) items.push(version)
      if (turn.isOver) await turn.next()
    }
    return { items, more: false }
  }

  /** Number of objects under the prefix of `selection` after `key`. */
  countAfter(selection: Selection, key: string): number {
    return this.#objects.count(selection.prefix, `${key}\0`)
  }

  #selectKey({ prefix, matches }: Selection, key: string, start: string): Selected {
    const found = this.#objects.get(key)
    const shown =
      found !== undefined && key >= start && key.startsWith(prefix) && (matches?.(found) ?? true)
    return { items: shown ? [found] : [], more: false }
  }

  #selectByScan({ prefix, matches }: Selection, start: string, limit: number): Selected {
    const items: StoredVersion[] = []
    let more = false
    this.#objects.scan(prefix, start, (version) => {
      if (limit > 0 && items.length === limit) {
        more = true
        return false
      }
      if (matches === undefined || matches(version)) items.push(version)
      return true
    })
    return { items, more }
  }

  #selectFrom(
    entries: readonly Entry<StoredVersion>[],
    selection: Selection,
    { start, limit }: { start: string; limit: number },
  ): Selected {
    const { prefix, matches, isOnePair } = selection
    const items: StoredVersion[] = []
    const [from, to] = rangeOf(entries, prefix, start)
    for (let i = from; i < to && (limit === 0 || items.length < limit); i++) {
      const version = entries[i]!.value
      if (isOnePair === true || matches === undefined || matches(version)) items.push(version)
    }
    const isFull = limit > 0 && items.length === limit
    return { items, more: isFull && this.#isLeft(selection, start, items[limit - 1]!.key) }
  }

  /** Whether a page is not the last: what counts are the objects that upstream looks through, shown or not. */
  #isLeft({ prefix, indexed }: Selection, start: string, last: string): boolean {
    const next = `${last}\0`
    const entries =
      start === '' && indexed && this.#indexes.narrow({ prefix, fieldEquals: indexed })
    if (!entries) return this.#objects.count(prefix, next) > 0
    const [from, to] = rangeOf(entries, prefix, next)
    return from < to
  }

  /**
   * Tells the waiters behind the answers to the writes of this turn, which go out at its end, too: the writers can write
   * again while a hundred watchers are written to.
   */
  #tellBehindAnswers(): void {
    this.#telling ??= new Promise((resolve) => {
      process.nextTick(() => setImmediate(() => resolve(this.#tell())))
    })
  }

  #tell(): void {
    this.#telling = undefined
    for (const waiter of this.waiters()) waiter.changed()
  }
}
