/**
 * The distributed driver: keys, revisions and transactions are etcd's own, so that any number of servers share one
 * store. It holds no state but its watches.
 */
import type { ServiceError } from '@grpc/grpc-js'
import type { Clock } from '#api/clock.js'
import { limits } from '#limits'
import {
  type Compare,
  type EventBatch,
  type HealthQuestion,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  type StorageDriver,
  StorageError,
  type TransactionResult,
  type WatchOptions,
} from '../driver.js'
import { type CallOptions, EtcdApi, readCall, writeCall } from './api.js'
import { Compactor } from './compactor.js'
import { goText, interpretEtcdError } from './errors.js'
import { isFence, KeySpace, placeOf, registryRoot } from './key-space.js'
import { Leases } from './leases.js'
import type { EtcdTls } from './members.js'
import type { AlarmResponse, RangeResponse, TxnResponse } from './messages.js'
import { type CursorHost, WatchCursor } from './watch-cursor.js'

interface EtcdOptions extends EtcdTls {
  /** `http://host:2379`, more than one separated by commas. */
  readonly servers: string
  /** Where the keys are in etcd, instead of `/registry`. */
  readonly prefix?: string
  /** What every key starts with here; default `/registry/`. */
  readonly root?: string
  /** How long to wait for an etcd that is not there. */
  readonly connectTimeoutMs?: number
  /** How long a write waits for its answer. */
  readonly writeTimeoutMs?: number
  readonly clock: Clock
}

/** If the event of a write has not come after this, the watch may be dead, and progress is requested. */
const eventDelayMs = 1_000

const leaseIsGone = ({ message }: Error): boolean => /requested lease not found/.test(message)

const alarmNames: Readonly<Record<number, string>> = { 1: 'NOSPACE', 2: 'CORRUPT' }

/** Throws StorageError Unavailable when etcd cannot be reached. */
export const openEtcd = async (options: EtcdOptions): Promise<StorageDriver> => {
  const api = new EtcdApi(options.servers, options)
  try {
    const { connectTimeoutMs: timeoutMs = limits.etcdDialTimeoutMs } = options
    const call = { timeoutMs, retries: true }
    await api.call('Maintenance', 'Status', {}, call)
    return new EtcdDriver(api, options)
  } catch (error) {
    api.close()
    const { code, message } = interpretEtcdError(error, false)
    throw new StorageError(code, `etcd at ${options.servers}: ${message}`, { cause: error })
  }
}

class EtcdDriver implements StorageDriver, CursorHost {
  readonly name = 'etcd'
  readonly shared = true
  readonly api: EtcdApi
  readonly keys: KeySpace
  readonly #writeCall: CallOptions
  readonly #leases: Leases
  readonly #compactor: Compactor
  readonly #watches = new Set<WatchCursor>()
  #compacted = 0
  #closed: StorageError | undefined

  constructor(api: EtcdApi, options: EtcdOptions) {
    const { root = registryRoot, prefix = root, clock } = options
    const { writeTimeoutMs: timeoutMs = writeCall.timeoutMs } = options
    this.#writeCall = { timeoutMs }
    this.api = api
    this.keys = new KeySpace(root, placeOf(prefix))
    this.#leases = new Leases(api, clock)
    this.#compactor = new Compactor(api, (revision) => this.compact(revision))
  }

  storedKey(key: string): string {
    return this.keys.toEtcd(key).toString()
  }

  async headRevision(): Promise<number> {
    const { key } = this.keys.range('', '')
    const { header } = await this.#read({ key, count_only: true })
    const revision = Number(header.revision)
    for (const watch of this.#watches) watch.reach(revision)
    return revision
  }

  async get(key: string): Promise<{ kv: KeyValue | undefined; revision: number }> {
    const { kvs, header } = await this.#read({ key: this.keys.toEtcd(key) })
    return { kv: kvs[0] && this.keys.keyValue(kvs[0]), revision: Number(header.revision) }
  }

  async range({ prefix, start = prefix, limit = 0, revision }: RangeOptions): Promise<RangeResult> {
    const kvs: KeyValue[] = []
    let from = start
    let at = revision
    let count: number | undefined
    for (;;) {
      const { key, range_end } = this.keys.range(prefix, from)
      const page = Math.min(limit > 0 ? limit - kvs.length : limits.rangeLength, limits.rangeLength)
      const request = { key, range_end, limit: String(page), revision: String(at ?? 0) }
      const answer = await this.#read(request)
      // All pages show the revision of the first.
      at ??= Number(answer.header.revision)
      count ??= Number(answer.count)
      for (const found of answer.kvs) {
        const kv = this.keys.keyValue(found)
        from = `${kv.key}\0`
        if (isFence(kv.key)) count--
        else kvs.push(kv)
      }
      const full = limit > 0 && kvs.length >= limit
      if (!answer.more || full) {
        const head = revision === undefined ? at : Number(answer.header.revision)
        return { kvs, revision: head, more: answer.more, count }
      }
    }
  }

  async txn(
    compares: readonly Compare[],
    operations: readonly Operation[],
  ): Promise<TransactionResult> {
    const compare = compares.map(({ key, modRevision }) => ({
      result: 0,
      target: 2,
      key: this.keys.toEtcd(key),
      mod_revision: String(modRevision),
    }))
    const failure = compare.map(({ key }) => ({ request_range: { key } }))
    const attempt = async () => {
      const success = await Promise.all(operations.map((operation) => this.#request(operation)))
      return this.#write<TxnResponse>('Txn', { compare, success, failure })
    }
    const answer = await attempt().catch((error) => {
      if (!leaseIsGone(error)) throw error
      this.#leases.forget()
      return attempt()
    })
    const revision = Number(answer.header.revision)
    if (answer.succeeded) {
      for (const watch of this.#watches) watch.reach(revision, eventDelayMs)
      return { succeeded: true, revision }
    }
    const current = answer.responses.map(({ response_range: range }) => {
      const kv = range?.kvs[0]
      return kv && this.keys.keyValue(kv)
    })
    return { succeeded: false, revision, current }
  }

  async *watch(options: WatchOptions): AsyncGenerator<EventBatch> {
    if (this.#closed !== undefined) throw this.#closed
    const cursor = new WatchCursor(this, options)
    this.#watches.add(cursor)
    try {
      yield* cursor.batches()
    } catch (error) {
      this.#noteCompacted(error as StorageError)
      throw error
    } finally {
      this.#watches.delete(cursor)
    }
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#write('Compact', { revision: String(revision) })
    } catch (error) {
      // Somebody else has compacted already.
      if (!(error instanceof StorageError && error.code === 'Compacted')) throw error
    }
    this.#compacted = Math.max(this.#compacted, revision)
  }

  compactedRevision(): number {
    return this.#compacted
  }

  /** Upstream's check reads a key that need not be there (factory, newETCD3Check); a full etcd answers that too. */
  async health({ timeoutMs, forWrites = false }: HealthQuestion): Promise<string | undefined> {
    if (this.#closed !== undefined) return this.#closed.message
    const once = { timeoutMs, retries: true }
    try {
      await this.api.call('KV', 'Range', { key: this.keys.healthKey }, once)
      if (!forWrites) return undefined
      const { alarms } = await this.api.call<AlarmResponse>('Maintenance', 'Alarm', {}, once)
      const names = alarms.map(({ alarm }) => alarmNames[alarm] ?? alarm)
      return names.length === 0 ? undefined : `etcd has raised an alarm: ${names.join(', ')}`
    } catch (error) {
      return `error getting data from etcd: ${goText(error as ServiceError)}`
    }
  }

  async close(): Promise<void> {
    if (this.#closed !== undefined) return
    this.#closed = new StorageError('Closed', 'the etcd store is closed')
    this.#compactor.stop()
    for (const watch of this.#watches) watch.fail(this.#closed)
    this.api.close()
  }

  #read(request: object): Promise<RangeResponse> {
    return this.#call<RangeResponse>('Range', request, readCall)
  }

  #write<T>(method: string, request: object): Promise<T> {
    return this.#call<T>(method, request, this.#writeCall)
  }

  async #call<T>(method: string, request: object, options: CallOptions): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed
    try {
      return await this.api.call<T>('KV', method, request, options)
    } catch (failure) {
      const error = this.#closed ?? interpretEtcdError(failure, options.retries !== true)
      this.#noteCompacted(error)
      throw error
    }
  }

  async #request(operation: Operation): Promise<object> {
    const key = this.keys.toEtcd(operation.key)
    if (operation.type === 'delete') return { request_delete_range: { key } }
    const { value, ttlSeconds = 0 } = operation
    if (ttlSeconds <= 0) return { request_put: { key, value } }
    try {
      return { request_put: { key, value, lease: await this.#leases.get(ttlSeconds) } }
    } catch (error) {
      throw interpretEtcdError(error, false)
    }
  }

  #noteCompacted({ code, revision = 0 }: StorageError): void {
    if (code === 'Compacted') this.#compacted = Math.max(this.#compacted, revision)
  }
}
