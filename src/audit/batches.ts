/**
 * Buffers events, for which requests do not wait, and sends them in batches at a bounded rate. If the buffer is full new
 * events are dropped (apiserver, plugin/pkg/audit/buffered).
 */
import { setTimer } from '#async/set-timer.js'
import { type Rate, TokenBucket } from '#async/token-bucket.js'
import type { AuditRecord } from './audit-record.js'
import type { AuditSink } from './sink.js'

export interface BatchOptions {
  /** Events that may wait. */
  readonly bufferSize: number
  readonly maxSize: number
  readonly maxWaitMs: number
  /** The rate of batches. Undefined: as fast as they come. */
  readonly throttle?: Rate | undefined
}

export class Batches implements AuditSink {
  readonly #to: AuditSink
  readonly #options: BatchOptions
  readonly #dropped: (count: number) => void
  readonly #throttle: TokenBucket | undefined
  readonly #sending = new Set<Promise<unknown>>()
  #waiting: AuditRecord[] = []
  #timer: NodeJS.Timeout | undefined
  #turn: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(to: AuditSink, options: BatchOptions, dropped: (count: number) => void) {
    this.#to = to
    this.#options = options
    this.#dropped = dropped
    this.#throttle = options.throttle && new TokenBucket(options.throttle, performance.now())
  }

  take(records: readonly AuditRecord[]): boolean {
    const room = this.#isClosed ? 0 : this.#options.bufferSize - this.#waiting.length
    this.#waiting.push(...records.slice(0, room))
    if (records.length > room) this.#dropped(records.length - room)
    if (this.#waiting.length >= this.#options.maxSize) this.#sendSoon()
    else this.#timer ??= setTimer(() => this.#sendSoon(), this.#options.maxWaitMs).unref()
    return true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#turn)
    while (this.#waiting.length > 0) this.#send()
    await Promise.all(this.#sending)
    await this.#to.close()
  }

  #sendSoon(): void {
    if (this.#turn !== undefined) return
    const waitMs = this.#throttle?.take(performance.now()) ?? 0
    this.#turn = setTimer(() => {
      this.#turn = undefined
      const isFull = (): boolean => this.#waiting.length >= this.#options.maxSize
      do this.#send()
      while (this.#throttle === undefined && isFull())
      if (isFull()) this.#sendSoon()
    }, waitMs).unref()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#waiting.splice(0, this.#options.maxSize)
    if (batch.length === 0) return
    const sent = Promise.resolve(this.#to.take(batch))
    this.#sending.add(sent)
    void sent.finally(() => this.#sending.delete(sent))
    if (this.#waiting.length > 0)
      this.#timer ??= setTimer(() => this.#sendSoon(), this.#options.maxWaitMs).unref()
  }
}
