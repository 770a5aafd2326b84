/**
 * Opening: every record is read once, its checksum checked, and history played back. What is refused: a record that is
 * not as it was written, a revision that is missing, live keys that are not those of the head, an acknowledged
 * revision that is gone. Nothing is repaired here: an operator decides between a backup and what is left.
 */
import type { Level } from 'level'
import { limits } from '#limits'
import { StorageError, type StorageEvent } from '../driver.js'
import { firstRevision, Mvcc } from '../mvcc.js'
import {
  decodeHead,
  decodeRecord,
  encodeHead,
  firstRecordKey,
  type Head,
  headKey,
  keyDigest,
  type Record,
  recordKey,
  recordKeysEnd,
} from './record.js'

export type Database = Level<string, Buffer>

export interface Replayed {
  readonly state: Mvcc
  readonly head: Head
  /** Record keys that a compaction had not yet removed. */
  readonly garbage: string[]
  readonly expiries: ReadonlyMap<string, number>
}

const emptyHead = (revision: number): Head => ({
  revision,
  compacted: revision,
  live: 0,
  digest: 0,
})

/** Reads the whole store; a new one starts at `startRevision`. Throws StorageError Corrupt. */
export const replay = async (
  db: Database,
  acknowledged: number,
  startRevision = firstRevision,
): Promise<Replayed> => {
  const head = await readHead(db, acknowledged, startRevision)
  if (acknowledged > head.revision) {
    throw corrupt(`revision ${acknowledged} was acknowledged, the newest found is ${head.revision}`)
  }
  const player = new Player(head)
  const iterator = db.iterator({
    gte: firstRecordKey,
    lt: recordKeysEnd,
    fillCache: false,
    highWaterMarkBytes: limits.replayBytes,
  })
  try {
    // The next entries are read by another thread while these are played.
    for (let next = iterator.nextv(limits.rangeLength); ; ) {
      const entries = await next
      if (entries.length === 0) break
      next = iterator.nextv(limits.rangeLength)
      // Where these cannot be played nobody waits for the next ones, which may be as damaged.
      next.catch(() => {})
      for (const [key, value] of entries) player.play(key, value)
    }
  } finally {
    await iterator.close()
  }
  return player.finish()
}

const readHead = async (
  db: Database,
  acknowledged: number,
  startRevision: number,
): Promise<Head> => {
  const apart = await readHeadApart(db)
  const last = await readLastHead(db)
  // The one apart came after the events that it counts.
  const newest = apart === undefined || (last?.revision ?? 0) > apart.revision ? last : apart
  if (newest !== undefined) return newest
  const [first] = await db.keys({ limit: 1 }).all()
  if (first !== undefined || acknowledged > 0) throw corrupt('the head record is missing')
  const head = emptyHead(startRevision)
  await db.batch([{ type: 'put', key: headKey, value: encodeHead(head) }], { sync: true })
  return head
}

const readHeadApart = async (db: Database): Promise<Head | undefined> => {
  const bytes = await db.get(headKey)
  if (bytes === undefined) return undefined
  const head = decodeHead(bytes)
  if (head === undefined) throw corrupt('the head record fails its checksum')
  return head
}

/** What the newest record says; one that is older than a compaction may have lost those behind it, and says nothing. */
const readLastHead = async (db: Database): Promise<Head | undefined> => {
  const newest = { gte: firstRecordKey, lt: recordKeysEnd, reverse: true, limit: 1 }
  const [entry] = await db.iterator(newest).all()
  return entry && checked(...entry).head
}

/** Throws StorageError Corrupt. */
const checked = (levelKey: string, bytes: Buffer): Record => {
  const record = decodeRecord(levelKey, bytes)
  if (record === undefined) throw corrupt(`a record fails its checksum (${levelKey})`)
  return record
}

class Player {
  readonly #head: Head
  readonly #state: Mvcc
  readonly #garbage: string[] = []
  readonly #expiries = new Map<string, number>()
  /** Newest record of each key up to the compacted revision. */
  #old: Map<string, Record> | undefined = new Map()
  #revision: number
  #events: StorageEvent[] = []
  /** Events that the revision being played still lacks. */
  #missing = 0

  constructor(head: Head) {
    this.#head = head
    this.#state = new Mvcc(head.compacted, head.compacted)
    this.#revision = head.compacted
  }

  play(levelKey: string, bytes: Buffer): void {
    const record = checked(levelKey, bytes)
    if (record.revision <= this.#head.compacted) this.#playOld(record)
    else this.#playEvent(record)
  }

  finish(): Replayed {
    this.#loadOld()
    this.#endRevision()
    if (this.#revision !== this.#head.revision) throw this.#gap(this.#head.revision)
    let live = 0
    let digest = 0
    for (const kv of this.#state.range({ prefix: '' }).kvs) {
      live++
      digest = (digest ^ keyDigest(kv)) >>> 0
    }
    if (live !== this.#head.live || digest !== this.#head.digest) {
      throw corrupt(`${this.#head.live} keys were stored, ${live} are left or they differ`)
    }
    return {
      state: this.#state,
      head: this.#head,
      garbage: this.#garbage,
      expiries: this.#expiries,
    }
  }

  #playOld(record: Record): void {
    const before = this.#old!.get(record.key)
    if (before !== undefined) this.#garbage.push(recordKey(before.revision, before.key))
    this.#old!.set(record.key, record)
  }

  #loadOld(): void {
    if (this.#old === undefined) return
    for (const { key, kv, revision, expiry } of this.#old.values()) {
      if (kv === undefined) this.#garbage.push(recordKey(revision, key))
      else this.#state.load(kv)
      if (expiry > 0) this.#expiries.set(key, expiry)
    }
    this.#old = undefined
  }

  #playEvent({ revision, key, kv, events, expiry }: Record): void {
    this.#loadOld()
    if (revision !== this.#revision) {
      this.#endRevision()
      if (revision !== this.#revision + 1) throw this.#gap(revision - 1)
      this.#revision = revision
      this.#missing = events
    }
    this.#missing--
    const type = kv === undefined ? 'delete' : 'put'
    this.#events.push({ type, key, revision, value: kv, previous: this.#state.get(key) })
    if (expiry > 0) this.#expiries.set(key, expiry)
    else this.#expiries.delete(key)
  }

  #endRevision(): void {
    if (this.#missing !== 0) throw corrupt(`revision ${this.#revision} is not whole`)
    this.#state.publish(this.#events, this.#revision)
    this.#events = []
  }

  #gap(before: number): StorageError {
    const first = this.#revision + 1
    return corrupt(
      before > first
        ? `revisions ${first} to ${before} are missing`
        : `revision ${first} is missing`,
    )
  }
}

const corrupt = (what: string): StorageError => new StorageError('Corrupt', what)
