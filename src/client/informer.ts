/**
 * Keeps a store equal to the server's objects: lists once, then watches for ever. A broken watch resumes where it
 * stopped; if history is gone (410) it lists again and reports objects that disappeared as deletes. Only its signal ends
 * it.
 */

import { ApiError } from '#api/errors.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import { withinTime } from '#async/within-time.js'
import { limits } from '#limits'
import { Backoff } from './backoff.js'
import type { Client } from './client.js'
import { isExpired, isTooManyRequests, messageOf } from './errors.js'
import type { Log } from './log.js'
import { keyOf, ObjectStore } from './object-store.js'
import { type Random, systemRandom } from './random.js'
import { apiVersionOf, type ResourceRef } from './resources.js'

export interface InformerHandler<T> {
  onAdd?(object: T): void
  onUpdate?(next: T, previous: T): void
  onDelete?(last: T): void
}

export interface InformerOptions<T> {
  client: Client
  ref: ResourceRef
  log: Log
  namespace?: string
  fieldSelector?: string
  /** Watches PartialObjectMetadata: for callers that only need owners, labels and finalizers. */
  metadataOnly?: boolean
  /** Makes an object smaller before it is kept. Default: drops managedFields, which no controller reads. */
  transform?(object: T): T
  random?: Random
}

const backoffMs = { baseMs: 200, maxMs: 5_000 }
/** When a watch is open again, missed events come at once; after this time they have been read. */
const catchUpMs = 200
/** Each watch lasts between this and twice this, so that load moves between servers. As client-go. */
const watchSecondsMin = 300
/** A watch that ends sooner and has brought nothing counts as failed, so that the next one waits. As client-go. */
const watchMsMin = 1_000
/** Grace beyond the watch's own end, after which a silent connection counts as dead. */
const watchOverrunMs = 30_000

/** Whether `a` was written before `b`. Resource versions are comparable numbers (KEP-5504). */
const isOlder = (a: string | undefined, b: string | undefined): boolean => {
  if (!a || !b || a === b) return false
  return a.length === b.length ? a < b : a.length < b.length
}

const withoutManagedFields = <T extends PersistedObject>(object: T): T => {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _dropped, ...metadata } = object.metadata
  return { ...object, metadata }
}

export class Informer<T extends PersistedObject = PersistedObject> {
  readonly store = new ObjectStore<T>()
  readonly ref: ResourceRef
  readonly #options: InformerOptions<T>
  readonly #handlers: InformerHandler<T>[] = []
  readonly #backoff: Backoff
  /** Where the watch resumes; undefined: list first. */
  #resourceVersion: string | undefined
  #newest: string | undefined
  #markSynced!: () => void
  readonly #synced = new Promise<void>((resolve) => {
    this.#markSynced = resolve
  })
  #hasSynced = false
  /** Since when no watch is open (of performance.now), also after one that ended as planned; kept until the next one has caught up. */
  #blindSince: number | undefined = performance.now()
  #isRefused = false
  /** Runs while a reopened watch catches up. */
  #catchingUp: NodeJS.Timeout | undefined
  /** uid → the newest known resourceVersion of a deleted object. */
  readonly #gone = new Map<string, string>()

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.ref = options.ref
    this.#backoff = new Backoff(backoffMs)
  }

  get hasSynced(): boolean {
    return this.#hasSynced
  }
  /** How long the store has not followed the server; 0 while a watch is open and has caught up. */
  get blindMs(): number {
    return this.#blindSince === undefined ? 0 : performance.now() - this.#blindSince
  }
  /** Whether the server's last answer was a refusal, which it may give for ever; not when no answer has come. */
  get isRefused(): boolean {
    return this.#isRefused
  }
  /** Resolves after the first complete list was told to the handlers. */
  synced(): Promise<void> {
    return this.#synced
  }

  /** Calls `handler` for all known objects and for all changes. */
  handle(handler: InformerHandler<T>): void {
    this.#handlers.push(handler)
    for (const object of this.store.list()) this.#tell(() => handler.onAdd?.(object))
  }

  /**
   * Takes the answer of one of our own writes before the watch brings it, so that a controller sees its own writes.
   * client-go has expectations for that.
   */
  observe(answer: T): void {
    if (this.#hasSynced) this.#upsert(this.#prepare(answer))
  }

  /** `answer` is that of our DELETE of `before`: an object that stays, or not. */
  observeDelete(before: T, answer: PersistedObject): void {
    const { metadata } = answer
    const stays =
      answer.kind === this.ref.kind &&
      metadata.deletionTimestamp !== undefined &&
      ((metadata.deletionGracePeriodSeconds ?? 0) > 0 || (metadata.finalizers ?? []).length > 0)
    if (stays) this.observe(answer as T)
    else this.observeGone(before, answer.kind === this.ref.kind ? (answer as T) : undefined)
  }

  /** The server has answered that `before` is gone; `last` is its last state, if known. */
  observeGone(before: T, last?: T): void {
    const key = keyOf(before)
    if (this.store.get(key)?.metadata.uid === before.metadata.uid) this.#remove(key, last)
  }

  /** Resolves when the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list(signal)
        await this.#watchInTime(signal)
        this.#goBlind()
      } catch (error) {
        if (signal.aborted) return
        this.#goBlind()
        await this.#recover(error, signal)
      }
    }
  }

  #goBlind(): void {
    this.#blindSince ??= performance.now()
    clearTimeout(this.#catchingUp)
    this.#catchingUp = undefined
  }

  /** A timer and then a turn of the event loop: a process that stood still meanwhile has read nothing yet. */
  #catchUp(): void {
    if (this.#blindSince === undefined || this.#catchingUp !== undefined) return
    const seeAgain = (): void => {
      if (this.#catchingUp !== timer) return
      this.#catchingUp = undefined
      this.#blindSince = undefined
      this.#isRefused = false
    }
    const timer = setTimeout(() => setImmediate(seeAgain), catchUpMs).unref()
    this.#catchingUp = timer
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const expired = isExpired(error)
    if (!expired) this.#isRefused = error instanceof ApiError && !isTooManyRequests(error)
    // A refusal, too, may mean that the server does not have this history: list again.
    if (expired || this.#isRefused) this.#resourceVersion = undefined
    const ms = this.#backoff.next()
    this.#options.log.debug(
      { resource: this.ref.resource, error: messageOf(error), retryMs: Math.round(ms) },
      'informer waits to retry',
    )
    await sleep(ms, signal)
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, namespace, fieldSelector, metadataOnly } = this.#options
    const items: T[] = []
    let from: string | undefined
    let resourceVersion: string
    do {
      const page = await client.list<T>(this.ref, {
        namespace,
        fieldSelector,
        metadataOnly,
        limit: limits.pageLength,
        continue: from,
        signal,
      })
      for (const item of page.items) items.push(this.#prepare(item))
      from = page.metadata.continue || undefined
      resourceVersion = page.metadata.resourceVersion ?? ''
    } while (from !== undefined)
    this.#replace(items, resourceVersion)
    this.#hasSynced = true
    this.#markSynced()
  }

  #replace(items: readonly T[], resourceVersion: string): void {
    // A server that went back in time (it lost data) is believed. Otherwise objects newer than the list are our own
    // writes.
    const wentBack = isOlder(resourceVersion, this.#newest)
    const listed = new Set(items.map(keyOf))
    for (const object of this.store.list())
      if (
        !listed.has(keyOf(object)) &&
        (wentBack || !isOlder(resourceVersion, object.metadata.resourceVersion))
      )
        this.#remove(keyOf(object))
    this.#newest = this.#resourceVersion = resourceVersion
    // What is gone by now may be there again, and its versions are counted anew.
    if (wentBack) this.#gone.clear()
    for (const object of items) this.#upsert(object, wentBack)
  }

  #watchInTime(signal: AbortSignal): Promise<void> {
    const random = this.#options.random ?? systemRandom
    const timeoutSeconds = Math.round(watchSecondsMin * (1 + random()))
    return withinTime(signal, timeoutSeconds * 1000 + watchOverrunMs, (own) =>
      this.#watch(timeoutSeconds, own),
    )
  }

  async #watch(timeoutSeconds: number, signal: AbortSignal): Promise<void> {
    const { client, namespace, fieldSelector, metadataOnly } = this.#options
    const began = performance.now()
    let isEmpty = true
    const events = client.watch<T>(this.ref, {
      namespace,
      fieldSelector,
      metadataOnly,
      resourceVersion: this.#resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds,
      signal,
      onOpen: () => this.#catchUp(),
    })
    for await (const event of events) {
      isEmpty = false
      this.#backoff.reset()
      const { type, object } = event
      this.#newest = this.#resourceVersion = object.metadata.resourceVersion
      if (type === 'DELETED') this.#forget(object)
      // Of an end that a write has met with nobody told the version: what comes before it may still be told.
      else if (type === 'ADDED' || (type === 'MODIFIED' && !this.#gone.has(object.metadata.uid)))
        this.#upsert(this.#prepare(object))
    }
    if (isEmpty && performance.now() - began < watchMsMin)
      throw new Error('the watch ended at once and brought nothing')
  }

  /** Items of a list do not carry their kind; everything kept does. */
  #prepare(item: T): T {
    const object = { ...item, kind: this.ref.kind, apiVersion: apiVersionOf(this.ref) }
    return (this.#options.transform ?? withoutManagedFields)(object)
  }

  #upsert(object: T, evenOlder = false): void {
    if (!evenOlder && this.#isGone(object)) return
    const key = keyOf(object)
    const previous = this.store.get(key)
    if (previous !== undefined) {
      const [next, last] = [object.metadata.resourceVersion, previous.metadata.resourceVersion]
      if (next === last || (!evenOlder && isOlder(next, last))) return
      if (previous.metadata.uid !== object.metadata.uid) this.#remove(key)
    }
    this.#gone.delete(object.metadata.uid)
    this.store.set(key, object)
    for (const handler of this.#handlers)
      this.#tell(() =>
        previous === undefined || previous.metadata.uid !== object.metadata.uid
          ? handler.onAdd?.(object)
          : handler.onUpdate?.(object, previous),
      )
  }

  #forget(last: T): void {
    this.#markGone(last)
    this.#remove(keyOf(last), this.#prepare(last))
  }

  #markGone({ metadata }: T): void {
    this.#gone.set(metadata.uid, metadata.resourceVersion ?? '')
    if (this.#gone.size > limits.goneObjectsKept) this.#gone.delete(this.#gone.keys().next().value!)
  }
  #isGone({ metadata }: T): boolean {
    const goneAt = this.#gone.get(metadata.uid)
    return goneAt !== undefined && !isOlder(goneAt, metadata.resourceVersion)
  }

  #remove(key: string, last = this.store.get(key)): void {
    const known = this.store.get(key)
    if (last === undefined || known === undefined) return
    // An object of the same name may have been made since, and be known from one of our writes.
    if (
      known.metadata.uid !== last.metadata.uid &&
      isOlder(last.metadata.resourceVersion, known.metadata.resourceVersion)
    )
      return
    this.store.delete(key)
    this.#markGone(known.metadata.uid === last.metadata.uid ? last : known)
    for (const handler of this.#handlers) this.#tell(() => handler.onDelete?.(last))
  }

  /** A handler that throws must not end the watch of all others. */
  #tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#options.log.error(
        { err: error, resource: this.ref.resource },
        'informer handler failed',
      )
    }
  }
}
