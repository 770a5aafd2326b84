/**
 * The state of a store in memory: the current value of every key and the window of history behind it. The memory
 * driver is this alone; the LevelDB driver writes each plan to disk before it is published here.
 *
 * A transaction goes through `plan`, which decides it against what is published and what earlier plans of the same
 * batch will write, and `publish`, which makes it readable and watchable. A past state is the current one with the
 * events since then undone (`PastState`), so that history costs nothing but its events.
 */
import assert from 'node:assert/strict'
import { limits } from '#limits'
import {
  type Compare,
  type EventBatch,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  StorageError,
  type StorageEvent,
  type WatchOptions,
} from './driver.js'
import { EventLog } from './event-log.js'
import { PastState } from './past-state.js'
import { SortedMap } from './sorted-map.js'

export interface Transaction {
  readonly compares: readonly Compare[]
  readonly operations: readonly Operation[]
}

/** What a batch of transactions will do: events to publish, and for each transaction its outcome. */
export interface Plan {
  readonly events: readonly PlannedEvent[]
  readonly outcomes: readonly PlannedOutcome[]
  /** Head revision once the plan is published. */
  readonly revision: number
}
export interface PlannedEvent extends StorageEvent {
  /** Set when the value is to expire. */
  readonly ttlSeconds?: number
}
type PlannedOutcome =
  | { readonly succeeded: true; readonly revision: number }
  | { readonly succeeded: false; readonly current: readonly (KeyValue | undefined)[] }

/** etcd's revision before the first write. */
export const firstRevision = 1

/** What an event costs besides its bytes. */
const eventOverheadBytes = 200

const eventBytes = (event: StorageEvent): number =>
  eventOverheadBytes + event.key.length + (event.previous?.value.length ?? 0)

export class Mvcc {
  readonly #current = new SortedMap<KeyValue>()
  readonly #log = new EventLog<StorageEvent>(eventBytes)
  #head: number
  #compacted: number
  #closed: StorageError | undefined
  #waiting: (() => void)[] = []

  constructor(head: number, compacted: number) {
    this.#head = head
    this.#compacted = compacted
  }

  get head(): number {
    return this.#head
  }
  get compacted(): number {
    return this.#compacted
  }
  get historyBytes(): number {
    return this.#log.bytes
  }

  get(key: string): KeyValue | undefined {
    return this.#current.get(key)
  }

  plan(transactions: readonly Transaction[]): Plan {
    const ahead = new Map<string, KeyValue | undefined>()
    const look = (key: string) =>
      ahead.size > 0 && ahead.has(key) ? ahead.get(key) : this.#current.get(key)
    const events: PlannedEvent[] = []
    const outcomes: PlannedOutcome[] = []
    let revision = this.#head
    for (const { compares, operations } of transactions) {
      const current = compares.map(({ key }) => look(key))
      if (compares.some((c, i) => (current[i]?.modRevision ?? 0) !== c.modRevision)) {
        outcomes.push({ succeeded: false, current })
        continue
      }
      const made: PlannedEvent[] = []
      for (const operation of operations) {
        // What is written was mostly compared, and each look among all keys waits for memory.
        const at = compares.findIndex(({ key }) => key === operation.key)
        const previous = at < 0 ? look(operation.key) : current[at]
        const event = planOperation(operation, previous, revision + 1)
        if (event !== undefined) made.push(event)
      }
      // One order that a scan of the disk yields again.
      if (made.length > 1) made.sort((a, b) => (a.key < b.key ? -1 : 1))
      // Deleting what is not there changes nothing and takes no revision, as in etcd.
      if (made.length > 0) revision++
      for (let index = 0; index < made.length; index++) {
        const event = made[index]!
        assert(event.key !== made[index - 1]?.key, 'one operation a key')
        // Nobody looks behind the last transaction.
        if (transactions.length > 1) ahead.set(event.key, event.value)
        events.push(event)
      }
      outcomes.push({ succeeded: true, revision })
    }
    return { events, outcomes, revision }
  }

  publish(events: readonly StorageEvent[], revision: number): void {
    assert(revision >= this.#head)
    for (const event of events) {
      if (event.value === undefined) this.#current.delete(event.key)
      else this.#current.set(event.key, event.value)
      this.#log.append(event)
    }
    this.#head = revision
    if (events.length > 0) this.#wake()
  }

  /** Puts a value in place without history: for what is older than the window when a store is opened. */
  load(kv: KeyValue): void {
    this.#current.set(kv.key, kv)
  }

  range(options: RangeOptions): RangeResult {
    const { prefix, start = prefix, limit = 0, revision = this.#head } = options
    if (revision > this.#head) throw futureRevision(revision, this.#head)
    if (revision < this.#compacted) throw compactedRevision(revision, this.#compacted)
    const source =
      revision === this.#head
        ? this.#current
        : new PastState(this.#current, this.#changedSince(revision, prefix))
    const kvs: KeyValue[] = []
    let more = false
    source.scan(prefix, start, (kv) => {
      if (limit > 0 && kvs.length === limit) {
        more = true
        return false
      }
      kvs.push(kv)
      return true
    })
    return { kvs, revision: this.#head, more, count: source.count(prefix, start) }
  }

  compact(revision: number): void {
    if (revision > this.#head) throw futureRevision(revision, this.#head)
    if (revision <= this.#compacted) return
    this.#log.dropThrough(revision)
    this.#compacted = revision
    this.#wake()
  }

  /** The revision to compact at so that no more than `bytesMax` of history are left. */
  revisionToHold(bytesMax: number): number {
    let excess = this.#log.bytes - bytesMax
    let revision = this.#compacted
    for (let i = 0; i < this.#log.length && excess > 0; i++) {
      revision = this.#log.at(i).revision
      excess -= eventBytes(this.#log.at(i))
    }
    return revision
  }

  /** Events of history up to and with `revision`, oldest first. */
  *history(revision: number): Iterable<StorageEvent> {
    const end = this.#log.indexAfter(revision)
    for (let i = 0; i < end; i++) yield this.#log.at(i)
  }

  watch(options: WatchOptions): AsyncIterable<EventBatch> {
    // The cursor is taken now, not when the first batch is asked for: 'from now' means the call.
    return this.#follow(options, options.after ?? this.#head)
  }

  close(reason: StorageError): void {
    this.#closed ??= reason
    this.#wake()
  }

  /** Events after `revision` on keys with the prefix, newest first. */
  *#changedSince(revision: number, prefix: string): Iterable<StorageEvent> {
    const first = this.#log.indexAfter(revision)
    for (let i = this.#log.length - 1; i >= first; i--) {
      const event = this.#log.at(i)
      if (event.key.startsWith(prefix)) yield event
    }
  }

  async *#follow(options: WatchOptions, after: number): AsyncGenerator<EventBatch> {
    const { prefix, signal } = options
    let cursor = after
    let caughtUp = false
    // Once for the whole watch: a listener for each wait costs more than the wait.
    const wake = () => this.#wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        if (this.#closed !== undefined) throw this.#closed
        if (cursor < this.#compacted) throw compactedRevision(cursor, this.#compacted)
        if (cursor < this.#head || !caughtUp) {
          const batch = this.#collect(prefix, cursor)
          cursor = Math.max(cursor, batch.revision)
          const arrived = cursor >= this.#head
          // The first time that it has caught up it says so, events or not.
          if (batch.events.length > 0 || (arrived && !caughtUp))
            yield { ...batch, revision: cursor }
          caughtUp ||= arrived
        } else {
          await new Promise<void>((resume) => this.#waiting.push(resume))
        }
      }
    } finally {
      signal.removeEventListener('abort', wake)
    }
  }

  #collect(prefix: string, cursor: number): EventBatch {
    const events: StorageEvent[] = []
    let revision = cursor
    for (let i = this.#log.indexAfter(cursor); i < this.#log.length; i++) {
      const event = this.#log.at(i)
      if (events.length >= limits.watchBatchLengthMax && event.revision > revision) {
        return { revision, events }
      }
      revision = event.revision
      if (event.key.startsWith(prefix)) events.push(event)
    }
    return { revision: this.#head, events }
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }
}

const planOperation = (
  operation: Operation,
  previous: KeyValue | undefined,
  revision: number,
): PlannedEvent | undefined => {
  const { key } = operation
  if (operation.type === 'delete') {
    if (previous === undefined) return undefined
    return { type: 'delete', key, revision, value: undefined, previous }
  }
  const createRevision = previous?.createRevision ?? revision
  const value = { key, value: operation.value, modRevision: revision, createRevision }
  return { type: 'put', key, revision, value, previous, ttlSeconds: operation.ttlSeconds }
}

export const futureRevision = (revision: number, head: number): StorageError =>
  new StorageError('FutureRevision', `revision ${revision} is ahead of ${head}`, { revision: head })

const compactedRevision = (revision: number, oldest: number): StorageError =>
  new StorageError('Compacted', `revision ${revision} is compacted, the oldest kept is ${oldest}`, {
    revision: oldest,
  })
