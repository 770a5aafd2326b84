/**
 * The storage contract: a byte-level store of keys with revisions, in the shape of etcd.
 *
 * One suite (test/storage/suite.ts) runs on every driver. What a driver promises:
 * - `txn` is atomic and yields one revision, greater than every earlier one; no revision is used twice, crash or not.
 * - It resolves only after the data is durable, and nothing can be read or watched before that.
 * - An outcome is one of three: done, refused (nothing happened), unknown (StorageError UnknownOutcome).
 * - After a failed write an embedded driver writes no more: `health()` tells why.
 * - `range` at a revision is a consistent snapshot; a compacted one is Compacted, one ahead is FutureRevision.
 * - `watch` from revision R yields every event with revision > R, in order, once, whole revisions together,
 *   with the previous value; then it goes on live. A watcher left behind by compaction ends with Compacted, and nothing else.
 */

export interface KeyValue {
  readonly key: string
  readonly value: Buffer
  /** Revision of the write that made this value. */
  readonly modRevision: number
  /** Revision of the write that created the key. */
  readonly createRevision: number
  /** The value was encrypted with a former key or provider, so it should be written again even without a change. */
  readonly isStale?: boolean
  /** Why the value could not be decrypted. `value` is as stored then. */
  readonly unreadable?: string
}

/** Holds when the key's current modRevision is this; 0 means that the key does not exist. */
export interface Compare {
  readonly key: string
  readonly modRevision: number
}

export type Operation =
  | {
      readonly type: 'put'
      readonly key: string
      readonly value: Buffer
      readonly ttlSeconds?: number
    }
  | { readonly type: 'delete'; readonly key: string }

export type TransactionResult =
  | { readonly succeeded: true; readonly revision: number }
  /** Nothing was written; `current` holds what the compared keys are now, in the order of the compares. */
  | {
      readonly succeeded: false
      readonly revision: number
      readonly current: readonly (KeyValue | undefined)[]
    }

export interface RangeOptions {
  /** Keys that start with this; an empty prefix is everything. */
  readonly prefix: string
  /** First key to return (inclusive), for paging; must start with the prefix. */
  readonly start?: string
  /** At most this many; 0 or absent is no bound. */
  readonly limit?: number
  /** A past revision; absent is the newest. */
  readonly revision?: number
}

export interface RangeResult {
  readonly kvs: readonly KeyValue[]
  /** Head revision of the store when it answered, whatever revision was asked for. */
  readonly revision: number
  /** True when `limit` cut the answer. */
  readonly more: boolean
  /** How many keys there are from `start` on, those that `limit` cut off included. */
  readonly count: number
}

export interface StorageEvent {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  /** The new value of a put; undefined for a delete. */
  readonly value: KeyValue | undefined
  /** What was there before; undefined when the put created the key. */
  readonly previous: KeyValue | undefined
}

/** Events of whole revisions, in order; an empty list is progress: everything up to `revision` has been handed over. */
export interface EventBatch {
  readonly revision: number
  readonly events: readonly StorageEvent[]
}

export interface WatchOptions {
  readonly prefix: string
  /** Events after this revision; absent is from now. */
  readonly after?: number
  readonly signal: AbortSignal
}

export interface HealthQuestion {
  /** No answer within this is a failure. */
  readonly timeoutMs: number
  /** Also check that it takes writes: a full store can still be read. */
  readonly forWrites?: boolean
}

export interface StorageDriver {
  /** The URL scheme: `memory`, `level`, `etcd`. */
  readonly name: string
  /** True when other processes may write to the same store, so that a reader must ask it for freshness. */
  readonly shared: boolean
  /** Set by a driver that encrypts values. */
  readonly encryption?: {
    /** Whether values of this key, or of keys that begin so, are encrypted. */
    covers(key: string): boolean
    /**
     * Whether encryption keys have changed since the store was opened: values that were read before may be unreadable
     * now.
     */
    hasChanged(): boolean
    /** How many bytes the value takes when it is encrypted as those of the key are. */
    sizeOf(key: string, value: Buffer): number
  }
  /** The key as it is in a store that others use, too (etcd's prefix). Missing: the same. */
  storedKey?(key: string): string
  /** The head revision, confirmed with the store (a linearizable read). */
  headRevision(): Promise<number>
  get(key: string): Promise<{ kv: KeyValue | undefined; revision: number }>
  range(options: RangeOptions): Promise<RangeResult>
  txn(compares: readonly Compare[], operations: readonly Operation[]): Promise<TransactionResult>
  watch(options: WatchOptions): AsyncIterable<EventBatch>
  /** Drops history before `revision`; the state at it, tombstones included, stays readable. */
  compact(revision: number): Promise<void>
  /** Oldest revision that a range may ask for and a watch may resume after. */
  compactedRevision(): number
  /** Asks the store how it is. Undefined when all is well, else one line that says what is wrong. */
  health(question: HealthQuestion): Promise<string | undefined>
  close(): Promise<void>
}

type StorageErrorCode =
  | 'Compacted'
  | 'FutureRevision'
  | 'Unavailable'
  | 'UnknownOutcome'
  /** The store is full. The write that filled etcd is made all the same, and told so (quotaApplierV3). */
  | 'NoSpace'
  /** A write failed for another reason than space. Reads go on. */
  | 'ReadOnly'
  | 'Corrupt'
  | 'Locked'
  | 'TooLarge'
  /** A value could not be encrypted; nothing was written. */
  | 'NotTransformed'
  | 'Closed'

export class StorageError extends Error {
  readonly code: StorageErrorCode
  /** For Compacted: the oldest revision kept. For FutureRevision: the head. */
  readonly revision: number | undefined
  constructor(
    code: StorageErrorCode,
    message: string,
    options: { revision?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'StorageError'
    this.code = code
    this.revision = options.revision
  }
}
