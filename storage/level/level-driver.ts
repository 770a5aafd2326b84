/**
 * The embedded driver: LevelDB as a log of revisions under the state in memory.
 *
 * One writer: transactions that wait are decided together, written as one LevelDB batch with `sync: true`, and published
 * and acknowledged only then (group commit). The removals of a compaction ride along. After a failed write it writes no
 * more: LevelDB goes on after a failed append and can lose later writes (google/leveldb issues 578 and 1180), so the
 * driver has to stop. Reads and watches go on.
 */
import { chmodSync, existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'
import type { Clock } from '#api/clock.js'
import { nextTurn } from '#async/turns.js'
import { limits } from '#limits'
import { makeFolders } from '#program/make-folders.js'
import {
  type Compare,
  type EventBatch,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  type StorageDriver,
  StorageError,
  type TransactionResult,
  type WatchOptions,
} from '../driver.js'
import type { Mvcc, Plan, Transaction } from '../mvcc.js'
import { futureRevision } from '../mvcc.js'
import { Upkeep } from '../upkeep.js'
import { Acknowledged } from './acknowledged.js'
import { encodeHead, encodeRecord, type Head, headKey, keyDigest, recordKey } from './record.js'
import { type Database, type Replayed, replay } from './replay.js'

interface LevelOptions {
  readonly directory: string
  readonly clock: Clock
  /** Head revision of a store that is created now (a restore). */
  readonly startRevision?: number
  /** One that is not there is an error. */
  readonly existing?: boolean
}

interface Waiting extends Transaction {
  readonly bytes: number
  resolve(result: TransactionResult): void
  reject(error: StorageError): void
}

interface Compaction {
  readonly revision: number
  resolve(): void
  reject(error: StorageError): void
}

/** An event, the head or a removal; a removal has no value. */
interface Write {
  readonly key: string
  readonly value?: Buffer
}

/**
 * Folders that this process has open. LevelDB must not open one twice: it opens the lock file before it checks, and
 * closing that file again would drop the lock of the whole process (a rule of POSIX).
 */
const openDirectories = new Set<string>()

/** Throws StorageError: Locked, Corrupt, Unavailable. */
export const openLevel = async (options: LevelOptions): Promise<StorageDriver> => {
  const { directory, existing } = options
  if (directory === '') throw new StorageError('Unavailable', 'storage level: names no directory')
  // LevelDB makes this file last when it makes a store.
  if (existing && !existsSync(join(directory, 'CURRENT')))
    throw new StorageError('Unavailable', `${directory} holds no store`)
  makePrivate(directory)
  const path = realpathSync(directory)
  if (openDirectories.has(path)) {
    throw new StorageError('Locked', `${directory} is in use by this process`)
  }
  openDirectories.add(path)
  try {
    return await openDatabase(options, () => openDirectories.delete(path))
  } catch (error) {
    openDirectories.delete(path)
    throw error
  }
}

const openDatabase = async (
  { directory, clock, startRevision }: LevelOptions,
  closed: () => void,
): Promise<StorageDriver> => {
  const db: Database = new Level<string, Buffer>(directory, {
    keyEncoding: 'utf8',
    valueEncoding: 'buffer',
    writeBufferSize: limits.writeBufferBytes,
    maxFileSize: limits.writeBufferBytes,
  })
  try {
    await db.open()
  } catch (error) {
    throw openingError(directory, error)
  }
  let acknowledged: Acknowledged | undefined
  try {
    acknowledged = new Acknowledged(directory)
    const replayed = await replay(db, acknowledged.read(), startRevision)
    return new LevelDriver(db, acknowledged, replayed, clock, closed)
  } catch (error) {
    acknowledged?.close()
    await db.close()
    throw openingError(directory, error)
  }
}

/** The store holds Secrets: only its owner may read it. */
const makePrivate = (directory: string): void => {
  try {
    makeFolders(directory, 0o700)
    chmodSync(directory, 0o700)
  } catch (cause) {
    throw new StorageError('Unavailable', `${directory}: ${(cause as Error).message}`, { cause })
  }
}

const openingError = (directory: string, error: unknown): StorageError => {
  const cause = ((error as Error).cause ?? error) as Error & { code?: string }
  if (cause.code === 'LEVEL_LOCKED') {
    return new StorageError('Locked', `${directory} is in use by another process`, { cause })
  }
  if (cause instanceof StorageError || cause.code === 'LEVEL_CORRUPTION') {
    const message = `the store in ${directory} is damaged: ${cause.message}`
    return new StorageError('Corrupt', message, { cause })
  }
  return new StorageError('Unavailable', `${directory}: ${cause.message}`, { cause })
}

class LevelDriver implements StorageDriver {
  readonly name = 'level'
  readonly shared = false
  readonly #db: Database
  readonly #acknowledged: Acknowledged
  readonly #state: Mvcc
  readonly #upkeep: Upkeep
  readonly #released: () => void
  #head: Head
  #waiting: Waiting[] = []
  #compactions: Compaction[] = []
  #removals: string[]
  #writing: Promise<void> | undefined
  /** Why no more is written. */
  #failed: StorageError | undefined
  #closed: StorageError | undefined
  #closing: Promise<void> | undefined

  constructor(
    db: Database,
    acknowledged: Acknowledged,
    replayed: Replayed,
    clock: Clock,
    released: () => void,
  ) {
    this.#released = released
    this.#db = db
    this.#acknowledged = acknowledged
    this.#state = replayed.state
    this.#head = replayed.head
    this.#removals = replayed.garbage
    this.#upkeep = new Upkeep(replayed.state, clock, this)
    for (const [key, expiry] of replayed.expiries) this.#upkeep.note(key, expiry)
  }

  async headRevision(): Promise<number> {
    this.#checkOpen()
    return this.#state.head
  }

  async get(key: string): Promise<{ kv: KeyValue | undefined; revision: number }> {
    this.#checkOpen()
    return { kv: this.#state.get(key), revision: this.#state.head }
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    this.#checkOpen()
    return this.#state.range(options)
  }

  watch(options: WatchOptions): AsyncIterable<EventBatch> {
    return this.#state.watch(options)
  }

  compactedRevision(): number {
    return this.#state.compacted
  }

  async health(): Promise<string | undefined> {
    return (this.#failed ?? this.#closed)?.message
  }

  txn(compares: readonly Compare[], operations: readonly Operation[]): Promise<TransactionResult> {
    let bytes = 0
    for (const operation of operations) {
      bytes += operation.key.length + (operation.type === 'put' ? operation.value.length : 0)
    }
    return new Promise((resolve, reject) => {
      const refusal = this.#closed ?? this.#failed ?? tooLarge(bytes)
      if (refusal !== undefined) return reject(refusal)
      this.#waiting.push({ compares, operations, bytes, resolve, reject })
      this.#startWriting()
    })
  }

  compact(revision: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const refusal = this.#closed ?? this.#failed
      if (refusal !== undefined) return reject(refusal)
      if (revision > this.#state.head) return reject(futureRevision(revision, this.#state.head))
      this.#compactions.push({ revision, resolve, reject })
      this.#startWriting()
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(new StorageError('Closed', 'the store is closed'))
    return this.#closing
  }

  async #close(closed: StorageError): Promise<void> {
    this.#closed = closed
    await this.#upkeep.stop()
    await this.#writing
    this.#state.close(closed)
    await this.#db.close()
    this.#acknowledged.close()
    this.#released()
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw this.#closed
  }

  #startWriting(): void {
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    while (this.#waiting.length + this.#compactions.length + this.#removals.length > 0) {
      await this.#gather()
      const compactions = this.#compactions
      this.#compactions = []
      const taken = this.#take()
      try {
        await this.#commit(taken, compactions)
      } catch (error) {
        this.#fail(error as Error, taken, compactions)
        break
      }
    }
    // In the same turn as the last check of the queue, so that a later transaction starts writing again.
    this.#writing = undefined
  }

  /**
   * Waits some turns for more writes to share the batch, which costs as much as several of its writes. Not with few
   * writes, whose clients would only wait, nor with many, which share the costs already.
   */
  async #gather(): Promise<void> {
    await nextTurn()
    for (let turn = 1; turn < limits.groupCommitTurns; turn++) {
      const { length } = this.#waiting
      if (length < limits.groupCommitWaitsFrom || length >= limits.groupCommitGathered) return
      await nextTurn()
    }
  }

  #take(): Waiting[] {
    let bytes = 0
    let count = 0
    while (count < this.#waiting.length && count < limits.groupCommitTransactionsMax) {
      bytes += this.#waiting[count]!.bytes
      if (count > 0 && bytes > limits.groupCommitBytesMax) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #commit(taken: readonly Waiting[], compactions: readonly Compaction[]): Promise<void> {
    const plan = this.#state.plan(taken)
    const compacted = compactions.reduce((c, { revision }) => Math.max(c, revision), 0)
    const { writes, head, expiries } = this.#prepare(plan, compacted)
    if (writes.length > 0) {
      await writeAll(this.#db, writes)
      this.#acknowledged.write(head.revision)
    }
    this.#head = head
    this.#publish(plan, expiries)
    this.#state.compact(head.compacted)
    for (const [index, { resolve }] of taken.entries()) {
      resolve({ revision: plan.revision, ...plan.outcomes[index]! })
    }
    for (const { resolve } of compactions) resolve()
  }

  /** Events with the head that counts them, and removals, for one batch. */
  #prepare(plan: Plan, compactAt: number) {
    const head = this.#headAfter(plan, compactAt)
    const writes: Write[] = []
    const expiries: number[] = []
    const sizes = new Map<number, number>()
    for (const { revision } of plan.events) sizes.set(revision, (sizes.get(revision) ?? 0) + 1)
    for (const event of plan.events) {
      const { revision, key, value: kv } = event
      const expiry = this.#upkeep.expiryOf(event)
      expiries.push(expiry)
      const levelKey = recordKey(revision, key)
      const record = {
        revision,
        key,
        kv,
        events: sizes.get(revision)!,
        expiry,
        // All records of the last revision get the head: LevelDB orders by bytes, so any of them may be the last on disk.
        head: revision === head.revision ? head : undefined,
      }
      writes.push({ key: levelKey, value: encodeRecord(levelKey, record) })
    }
    const compacts = head.compacted > this.#head.compacted
    if (compacts) this.#collectGarbage(head.compacted)
    for (const key of this.#removals.splice(0, limits.removalsInBatchMax)) {
      writes.push({ key })
    }
    if (compacts && plan.events.length === 0) writes.push({ key: headKey, value: encodeHead(head) })
    return { writes, head, expiries }
  }

  #headAfter({ events, revision }: Plan, compactAt: number): Head {
    let { live, digest } = this.#head
    for (const { value, previous } of events) {
      if (previous !== undefined) {
        live--
        digest ^= keyDigest(previous)
      }
      if (value !== undefined) {
        live++
        digest ^= keyDigest(value)
      }
    }
    const compacted = Math.max(this.#head.compacted, compactAt)
    return { revision, compacted, live, digest: digest >>> 0 }
  }

  /**
   * Collects records that are not needed once history starts at `revision`. A tombstone is removed together with the
   * value that it ended, never before it: a crash between two batches must not bring the value back.
   */
  #collectGarbage(revision: number): void {
    for (const { type, key, revision: at, previous } of this.#state.history(revision)) {
      if (previous !== undefined) this.#removals.push(recordKey(previous.modRevision, key))
      if (type === 'delete') this.#removals.push(recordKey(at, key))
    }
  }

  #publish(plan: Plan, expiries: readonly number[]): void {
    for (const [index, event] of plan.events.entries()) {
      this.#upkeep.note(event.key, expiries[index]!)
    }
    this.#state.publish(plan.events, plan.revision)
  }

  #fail(cause: Error, taken: readonly Waiting[], compactions: readonly Compaction[]): void {
    const full = /no space|quota/i.test(cause.message)
    const why = `the store stopped writing after a failed write: ${cause.message}`
    this.#failed = new StorageError(full ? 'NoSpace' : 'ReadOnly', why, { cause })
    // The failed batch may be on disk, and be found at the next opening.
    const unknown = new StorageError('UnknownOutcome', why, { cause })
    for (const { reject } of [...taken, ...compactions]) reject(unknown)
    for (const { reject } of [...this.#waiting, ...this.#compactions]) reject(this.#failed)
    this.#waiting = []
    this.#compactions = []
    this.#removals = []
  }
}

/** One synced batch. Put by put: `batch(operations)` copies each operation twice, which costs more than writing it. */
const writeAll = async (db: Database, writes: readonly Write[]): Promise<void> => {
  const batch = db.batch()
  for (const { key, value } of writes) {
    if (value === undefined) batch.del(key)
    else batch.put(key, value)
  }
  await batch.write({ sync: true })
}

/** A revision must fit one batch, and a value what etcd would take. */
const tooLarge = (bytes: number): StorageError | undefined =>
  bytes > limits.groupCommitBytesMax
    ? // As etcd says it: clients know the text.
      new StorageError('TooLarge', 'etcdserver: request is too large')
    : undefined
