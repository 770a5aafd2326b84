/**
 * Object storage: the decoded view of a driver that the registry works on. The watch cache has one for each resource
 * (resource-storage.ts), which storages of custom resources wrap (src/crd).
 */
import type { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { ObjectText } from './object-text.js'

/**
 * One version of one object. Shared by every reader and watcher, so nothing in it may be changed.
 */
export interface StoredObject {
  /** The whole storage key, e.g. `/registry/pods/default/web-0`. */
  readonly key: string
  /** In the storage version, with `metadata.resourceVersion` set; decoded at first use. */
  readonly object: KubeObject
  /** `metadata.labels`, at hand without decoding the object; empty when it has none. */
  readonly labels?: Readonly<Record<string, string>>
  /** The JSON of `object`, resourceVersion in place. */
  readonly text: ObjectText
  /** Revision of the write that made this version: the number behind resourceVersion. */
  readonly revision: number
  /** True when nobody has written it since it was created. */
  readonly isAsCreated?: boolean
  /** Why it cannot be decrypted, if so: reading `object`, `labels` or `text` then throws an ApiError. */
  readonly why?: string | undefined
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** One change as one watcher sees it; shared by all watchers with the same view of it. */
export interface ObjectEvent {
  readonly type: WatchEventType
  /**
   * What the client is shown. For DELETED the last state with the resourceVersion of the delete; for an object that
   * left the selection the state before the update with the resourceVersion of the update (apiserver, etcd3/watcher.go).
   */
  readonly stored: StoredObject
  readonly revision: number
}

/** Events in order; an empty list says that everything up to `revision` has been handed over (a bookmark may be sent). */
export interface ObjectEventBatch {
  readonly revision: number
  readonly events: readonly ObjectEvent[]
  /** Made for one watcher alone: frames of it need not be kept for others. */
  readonly isInitial?: boolean
  /** The initial events of sendInitialEvents end with this batch. */
  readonly initialEventsEnd?: boolean
}

/** Which objects are meant. `matches` decides; the other fields let an index narrow the search first. */
export interface Selection {
  /** `/registry/pods/` or `/registry/pods/default/`: always ends in a slash. */
  readonly prefix: string
  /** Set when exactly one key can match (a name in the path or `metadata.name=` as field selector). */
  readonly key?: string
  /** Label values that a match must have, for the label index. */
  readonly labelEquals?: ReadonlyMap<string, string>
  /** Selectable field values that a match must have (`spec.nodeName` → `n1`), for the field index. */
  readonly fieldEquals?: ReadonlyMap<string, string>
  /** The part of fieldEquals by which upstream has an index: a list that begins looks through nothing else. */
  readonly indexed?: ReadonlyMap<string, string>
  /** Undefined: everything under the prefix. */
  readonly matches?: (stored: StoredObject) => boolean
  /**
   * Set when the one pair of labelEquals or fieldEquals is all that `matches` tests, so that what an index finds need not
   * be tested again.
   */
  readonly isOnePair?: boolean
}

/** Upstream's resourceVersion and resourceVersionMatch, already validated. */
export type ReadConsistency =
  /** Not older than any write that was acknowledged before this read (resourceVersion unset). */
  | { readonly kind: 'consistent' }
  /** Whatever is at hand (resourceVersion "0"). */
  | { readonly kind: 'any' }
  /** At least this revision; waits for it up to limits.futureRevisionWaitMs. */
  | { readonly kind: 'notOlderThan'; readonly revision: number }
  /** Exactly this revision; Compacted when it is gone. */
  | { readonly kind: 'exact'; readonly revision: number }

export interface ListOptions {
  readonly selection: Selection
  readonly consistency: ReadConsistency
  /** 0 is no bound. */
  readonly limit: number
  /** First key of the page (exclusive of everything before it), from a continue token. */
  readonly startKey?: string
}

export interface ListPage {
  readonly items: readonly StoredObject[]
  /** Set when the very same array was returned before: it is worth keeping what is made of it. */
  readonly isSame?: boolean
  /** The revision that the list shows. */
  readonly revision: number
  /** Where the next page starts: pass it as `startKey`. It is the last key shown and a zero byte; undefined on the last page. */
  readonly nextKey?: string
  /** Objects under the prefix after this page; undefined when a selector makes it unknown. */
  readonly remaining?: number
}

export interface ObjectWatchOptions {
  readonly selection: Selection
  /** Events after this revision; 'now' starts with what happens next; 'any' starts with the current state as ADDED. */
  readonly after: number | 'now' | 'any'
  /** sendInitialEvents: the current state as ADDED first, not older than `after`, then a batch with initialEventsEnd. */
  readonly sendInitialEvents?: boolean
  /** After how long the caller ends the watch. A bookmark is due 2 s before that, as upstream. */
  readonly timeoutMs?: number
  readonly signal: AbortSignal
}

/** Thrown by writes whose expectation failed; every other failure is a StorageError of the driver. */
export class WriteConflict extends Error {
  /** What is stored now; undefined when the key is gone. */
  readonly current: StoredObject | undefined
  constructor(current: StoredObject | undefined) {
    super('the stored object is not the expected one')
    this.name = 'WriteConflict'
    this.current = current
  }
}

/** The state as it is now, without waiting. */
export interface StateAtHand {
  get(key: string): StoredObject | undefined
  /** In key order. */
  list(prefix: string): readonly StoredObject[]
}

export interface WriteOptions {
  /** After which the store itself removes the object. */
  readonly ttlSeconds?: number | undefined
}

export interface ObjectStorage {
  /** Synchronous reads, for stores that nobody else writes to: memory has what a consistent read would find. */
  readonly atHand?: StateAtHand
  /** A promise only where it has to wait. */
  get(
    key: string,
    consistency: ReadConsistency,
  ): StoredObject | undefined | Promise<StoredObject | undefined>
  /** A promise only where it has to wait. */
  list(options: ListOptions): ListPage | Promise<ListPage>
  /** Writes a new object; WriteConflict when the key is taken. `object` is taken over: the caller must not touch it again. */
  create(key: string, object: KubeObject, options?: WriteOptions): Promise<StoredObject>
  /** Replaces exactly `expected`; WriteConflict when another version is stored. */
  update(expected: StoredObject, object: KubeObject, options?: WriteOptions): Promise<StoredObject>
  /**
   * Whether `object`, which equals what `current` shows, would also be stored as `current` is. If not, it is written
   * although nothing changed. Missing: always. Rejects where a conversion fails.
   */
  readonly isStoredAlike?: (current: StoredObject, object: KubeObject) => boolean | Promise<boolean>
  /**
   * Whether the object must be written although nothing changed, because it was encrypted with a former key. Missing:
   * never.
   */
  readonly isStale?: (current: StoredObject) => boolean | Promise<boolean>
  /** An object that is not written (dry run) as it would be read back. Missing: unchanged. */
  readonly asRead?: (object: KubeObject) => KubeObject | Promise<KubeObject>
  /** Removes exactly `expected`; yields its last state with the revision of the delete. */
  delete(expected: StoredObject): Promise<StoredObject>
  /** Resolves when watchers have been handed all that was written until now; undefined when they have been. */
  told?(): Promise<void> | undefined
  /**
   * Batches of events, each as large as what is ready, so that one batch is one write on a socket.
   * Throws StorageError Compacted before any event when `after` is gone, FutureRevision under sendInitialEvents.
   */
  watch(options: ObjectWatchOptions): AsyncIterable<ObjectEventBatch>
  /** Why a watch cannot begin now, if so. */
  readonly notReady?: () => ApiError | undefined | Promise<ApiError | undefined>
  /**
   * Resolves when `revision` has been reached here; undefined when it has been. Throws StorageError FutureRevision when it
   * does not come.
   */
  whenReached?(revision: number): Promise<void> | undefined
  /** The newest revision known here. */
  currentRevision(): number
  /**
   * Revision of the newest change of this resource: what was read at or after it is still current. Missing where only a
   * read can tell.
   */
  lastChange?(): number
}
