/**
 * Keeps a store equal to what the server has: lists once, then watches for ever. A broken watch resumes where it
 * stopped; when history is gone (410) it lists again and tells of what disappeared meanwhile as deletes.
 * Nothing but its signal ends it.
 */

import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { Backoff, sleep } from './backoff.js'
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
  labelSelector?: string
  fieldSelector?: string
  /** Watches PartialObjectMetadata: for who only needs owners, labels and finalizers. */
  metadataOnly?: boolean
  /** Objects that it says false to are treated as if they were not there. */
  accept?(object: T): boolean
  /** Makes an object smaller before it is kept. Default: drops managedFields, which no controller reads. */
  transform?(object: T): T
  random?: Random
}

const pageLength = 500
const backoffMs = { baseMs: 200, maxMs: 5_000 }
/** Each watch asks to end after this to twice this, so that load moves between servers. As client-go. */
const watchSecondsMin = 300
/** Grace beyond the watch's own end, after which a silent connection counts as dead. */
const watchOverrunMs = 30_000

const withoutManagedFields = <T extends KubeObject>(object: T): T => {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _dropped, ...metadata } = object.metadata
  return { ...object, metadata }
}

export class Informer<T extends KubeObject = KubeObject> {
  readonly store = new ObjectStore<T>()
  readonly ref: ResourceRef
  readonly #options: InformerOptions<T>
  readonly #handlers = new Set<InformerHandler<T>>()
  readonly #backoff: Backoff
  #resourceVersion: string | undefined
  #markSynced!: () => void
  readonly #synced = new Promise<void>((resolve) => {
    this.#markSynced = resolve
  })
  #hasSynced = false

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.ref = options.ref
    this.#backoff = new Backoff({ ...backoffMs, random: options.random ?? systemRandom })
  }

  get hasSynced(): boolean {
    return this.#hasSynced
  }
  /** Resolves after the first complete list was told to the handlers. */
  synced(): Promise<void> {
    return this.#synced
  }

  /** Tells `handler` of all that is known and of all that comes; the result ends that. */
  handle(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler)
    for (const object of this.store.list()) this.#tell(() => handler.onAdd?.(object))
    return () => this.#handlers.delete(handler)
  }

  /** Resolves when the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list(signal)
        await this.#watch(signal)
      } catch (error) {
        if (signal.aborted) return
        await this.#recover(error, signal)
      }
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (isExpired(error)) {
      this.#resourceVersion = undefined
      return
    }
    // A refusal other than "busy" may mean that this history is not the server's: only a list tells.
    if (error instanceof ApiError && !isTooManyRequests(error)) this.#resourceVersion = undefined
    const ms = this.#backoff.next()
    this.#options.log.debug(
      { resource: this.ref.resource, error: messageOf(error), retryMs: Math.round(ms) },
      'informer waits to retry',
    )
    await sleep(ms, signal)
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, namespace, labelSelector, fieldSelector, metadataOnly } = this.#options
    const seen = new Set<string>()
    let from: string | undefined
    let resourceVersion: string
    do {
      const page = await client.list<T>(this.ref, {
        namespace,
        labelSelector,
        fieldSelector,
        metadataOnly,
        limit: pageLength,
        continue: from,
        signal,
      })
      for (const item of page.items) {
        const object = this.#prepare(item)
        if (object === undefined) continue
        seen.add(keyOf(object))
        this.#upsert(object)
      }
      from = page.metadata.continue || undefined
      resourceVersion = page.metadata.resourceVersion ?? ''
    } while (from !== undefined)
    for (const key of this.store.keys()) if (!seen.has(key)) this.#remove(key)
    this.#resourceVersion = resourceVersion
    this.#hasSynced = true
    this.#markSynced()
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, namespace, labelSelector, fieldSelector, metadataOnly } = this.#options
    const random = this.#options.random ?? systemRandom
    const timeoutSeconds = Math.round(watchSecondsMin * (1 + random()))
    const events = client.watch<T>(this.ref, {
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
      resourceVersion: this.#resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds,
      signal: AbortSignal.any([
        signal,
        AbortSignal.timeout(timeoutSeconds * 1000 + watchOverrunMs),
      ]),
    })
    for await (const event of events) {
      this.#backoff.reset()
      this.#resourceVersion = event.object.metadata.resourceVersion
      if (event.type === 'BOOKMARK') continue
      const object = this.#prepare(event.object)
      if (event.type !== 'DELETED' && object !== undefined) this.#upsert(object)
      else this.#remove(keyOf(event.object), object)
    }
  }

  /** Items of a list do not carry their kind; everything kept does. */
  #prepare(item: T): T | undefined {
    const object = { ...item, kind: this.ref.kind, apiVersion: apiVersionOf(this.ref) }
    if (this.#options.accept?.(object) === false) return undefined
    return (this.#options.transform ?? withoutManagedFields)(object)
  }

  #upsert(object: T): void {
    const key = keyOf(object)
    const previous = this.store.get(key)
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) this.#remove(key)
    const same = previous?.metadata.resourceVersion === object.metadata.resourceVersion
    if (previous !== undefined && same && previous.metadata.uid === object.metadata.uid) return
    this.store.set(key, object)
    for (const handler of this.#handlers)
      this.#tell(() =>
        previous === undefined || previous.metadata.uid !== object.metadata.uid
          ? handler.onAdd?.(object)
          : handler.onUpdate?.(object, previous),
      )
  }

  #remove(key: string, last = this.store.get(key)): void {
    if (last === undefined || this.store.get(key) === undefined) return
    this.store.delete(key)
    for (const handler of this.#handlers) this.#tell(() => handler.onDelete?.(last))
  }

  /** A handler that throws must not end the watch of all others. */
  #tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#options.log.error({ error, resource: this.ref.resource }, 'informer handler failed')
    }
  }
}
