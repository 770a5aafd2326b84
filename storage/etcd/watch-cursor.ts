/**
 * One watch of etcd that outlives its connections: it remembers the revision up to which everything was handed over,
 * and starts a new stream after it whenever the old one breaks.
 */
import { limits } from '#limits'
import { type EventBatch, StorageError, type StorageEvent, type WatchOptions } from '../driver.js'
import { type EtcdApi, type EtcdWatch, writeCall } from './api.js'
import { bytesOfKey, fenceSuffix, isFence, type KeySpace } from './key-space.js'
import type { WatchResponse } from './messages.js'

/** How long to wait for events before progress is requested from etcd. */
const progressDelayMs = 30
const progressDelayMaxMs = 1_000
/** If a watch that is asked how far it is says nothing for this long, another member is tried. */
const silenceMs = 4_000
const retryMinMs = 100
const retryMaxMs = 2_000

export interface CursorHost {
  readonly api: EtcdApi
  readonly keys: KeySpace
}

export class WatchCursor {
  readonly #host: CursorHost
  readonly #options: WatchOptions
  readonly prefix: string
  /** Everything up to here was handed over; undefined: the watch starts from what is when it is created. */
  #cursor: number | undefined
  #watch: EtcdWatch | undefined
  /** When the stream last said something, or was opened (of performance.now). */
  #heardAt = 0
  readonly #ended = new AbortController()
  readonly #batches: EventBatch[] = []
  #error: StorageError | undefined
  #broken = false
  #wake: () => void = () => {}
  #wanted = 0
  /** When it was asked for a revision that it had not reached (of performance.now). */
  #askedAt = 0
  #look: { at: number; timer: NodeJS.Timeout } | undefined

  constructor(host: CursorHost, options: WatchOptions) {
    this.#host = host
    this.#options = options
    this.prefix = options.prefix
    this.#cursor = options.after
  }

  async *batches(): AsyncGenerator<EventBatch> {
    const { signal } = this.#options
    const stop = () => {
      this.#ended.abort()
      this.#wake()
    }
    signal.addEventListener('abort', stop)
    let delay = retryMinMs
    try {
      while (!signal.aborted) {
        // Wake-ups while the stream was awaited are lost, so it checks again here; nothing is awaited between check and
        // pause.
        if (this.#watch === undefined && this.#error === undefined && !this.#broken) {
          await this.#open()
          continue
        }
        const batch = this.#batches.shift()
        if (batch !== undefined) {
          delay = retryMinMs
          if (this.#batches.length === 0) this.#resume()
          yield batch
        } else if (this.#error !== undefined) throw this.#error
        else if (this.#broken) {
          this.#drop()
          this.#broken = false
          await this.#pause(delay)
          delay = Math.min(delay * 2, retryMaxMs)
        } else await this.#pause()
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#drop()
      clearTimeout(this.#look?.timer)
      this.#look = undefined
    }
  }

  /** Makes the watch reach `revision`: requests progress from etcd unless events get there within `delayMs`. */
  reach(revision: number, delayMs = progressDelayMs): void {
    const reached = this.#cursor ?? 0
    if (reached >= revision) return
    const now = performance.now()
    if (reached >= this.#wanted) this.#askedAt = now
    this.#wanted = Math.max(this.#wanted, revision)
    const at = now + delayMs
    if (this.#look !== undefined) {
      if (this.#look.at <= at) return
      clearTimeout(this.#look.timer)
    }
    this.#look = { at, timer: setTimeout(() => this.#lookAgain(delayMs), delayMs) }
  }

  #lookAgain(delayMs: number): void {
    this.#look = undefined
    const watch = this.#watch
    if ((this.#cursor ?? 0) >= this.#wanted || watch === undefined) return
    // It goes on when what has come has been taken, which takes as long as it takes.
    if (watch.stream.isPaused()) return
    // A watch without events is quiet until it is asked.
    const silentSince = Math.max(this.#heardAt, this.#askedAt)
    if (this.#host.api.hasOthers && performance.now() - silentSince > silenceMs) {
      this.#break()
      return
    }
    if (watch.progressIsReliable) watch.stream.write({ progress_request: {} })
    else this.#writeFence()
    // Waits longer each time: requests do not make a slow etcd faster.
    this.reach(this.#wanted, Math.min(delayMs * 2, progressDelayMaxMs))
  }

  fail(error: StorageError): void {
    this.#error ??= error
    this.#ended.abort()
    this.#wake()
  }

  /** Where progress cannot be trusted, an event of our own moves the watch forward, in order. */
  #writeFence(): void {
    const { key: first } = this.#host.keys.range(this.prefix, this.prefix)
    const key = Buffer.concat([first, Buffer.from(fenceSuffix)])
    // If this fails, the next check tries again.
    this.#host.api.call('KV', 'Put', { key, value: Buffer.alloc(0) }, writeCall).catch(() => {})
  }

  async #open(): Promise<void> {
    const { api, keys } = this.#host
    const ending = this.#ended.signal
    const watch = await api.watch(ending).catch(() => undefined)
    if (watch === undefined) {
      this.#broken = true
      return
    }
    const { stream } = watch
    if (ending.aborted) {
      cancel(stream)
      return
    }
    this.#watch = watch
    this.#heardAt = performance.now()
    const own = (handle: () => void) => {
      if (this.#watch === watch) handle()
    }
    stream.on('data', (response: WatchResponse) => own(() => this.#take(response)))
    stream.on('error', () => own(() => this.#break()))
    stream.on('end', () => own(() => this.#break()))
    const { key, range_end } = keys.range(this.prefix, this.prefix)
    const start_revision = this.#cursor === undefined ? '0' : String(this.#cursor + 1)
    stream.write({
      create_request: { key, range_end, start_revision, progress_notify: true, prev_kv: true },
    })
    this.reach(this.#wanted)
  }

  #take(response: WatchResponse): void {
    const { created, canceled, compact_revision, cancel_reason, header } = response
    this.#heardAt = performance.now()
    const revision = Number(header.revision)
    if (canceled) {
      const oldest = Number(compact_revision)
      if (oldest > 0) this.fail(new StorageError('Compacted', cancel_reason, { revision: oldest }))
      else this.#break()
      return
    }
    if (created) {
      this.#cursor ??= revision
      // A new watch first reports that it has caught up.
      if (this.#cursor < revision) this.reach(revision)
      else this.#push({ revision: this.#cursor, events: [] })
    } else if (response.events.length === 0) {
      if (revision > (this.#cursor ?? 0)) this.#push({ revision, events: [] })
    } else this.#takeEvents(response)
  }

  #takeEvents({ events }: WatchResponse): void {
    const taken: StorageEvent[] = []
    let revision = this.#cursor ?? 0
    for (const { type, kv, prev_kv } of events) {
      revision = Number(kv.mod_revision)
      const key = this.#host.keys.fromEtcd(bytesOfKey(kv.key))
      if (isFence(key)) continue
      const value = type === 1 ? undefined : this.#host.keys.keyValue(kv)
      const previous = prev_kv === null ? undefined : this.#host.keys.keyValue(prev_kv)
      if (previous === undefined && (value === undefined || value.createRevision < revision)) {
        this.fail(new StorageError('Compacted', 'the previous value is gone', { revision }))
        return
      }
      taken.push({ type: type === 1 ? 'delete' : 'put', key, revision, value, previous })
    }
    this.#push({ revision, events: taken })
  }

  #push(batch: EventBatch): void {
    this.#cursor = Math.max(this.#cursor ?? 0, batch.revision)
    this.#batches.push(batch)
    // From here on etcd keeps what a slow reader has not taken.
    if (this.#batches.length >= limits.etcdBatchesWaitingMax) this.#watch?.stream.pause()
    this.#wake()
  }

  #resume(): void {
    const { stream } = this.#watch ?? {}
    if (stream?.isPaused() !== true) return
    this.#heardAt = performance.now()
    stream.resume()
    this.reach(this.#wanted)
  }

  #break(): void {
    this.#broken = true
    this.#wake()
  }

  #drop(): void {
    const { stream } = this.#watch ?? {}
    this.#watch = undefined
    if (stream !== undefined) cancel(stream)
  }

  #pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(() => this.#wake(), ms)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => {}
        resolve()
      }
    })
  }
}

/** A cancelled stream emits an error, which nobody handles any more. */
const cancel = (stream: EtcdWatch['stream']): void => {
  stream.on('error', () => {})
  stream.cancel()
}
