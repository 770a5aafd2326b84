/**
 * A queue of keys to work on. A key is in it once, however often it is added, and is worked on by one worker at a time: a
 * key that is added meanwhile comes again when the worker is done. The rules of client-go's workqueue.
 */
import type { Clock } from '#api/clock.js'
import { setTimer } from '#async/set-timer.js'
import { isConflict, messageOf } from './errors.js'
import type { Log } from './log.js'
import type { QueueFigures } from './queue-metrics.js'

export interface WorkQueueOptions {
  /** First wait after a failure; doubles with each. client-go has 5 ms. */
  backoffBaseMs?: number
  /** Longest wait; client-go has 1000 s, which is long for a server that was restarted. */
  backoffMaxMs?: number
  /** Where it is counted. */
  figures?: QueueFigures
}

export class WorkQueue<K = string> {
  /** Those that came last, in their order. */
  #waiting: K[] = []
  /** Those that are taken before, the first one last: to shift an array of 50,000 keys moves all of them each time. */
  #turned: K[] = []
  readonly #dirty = new Set<K>()
  readonly #processing = new Set<K>()
  readonly #failures = new Map<K, number>()
  readonly #delayed = new Map<K, { dueMs: number; timer: NodeJS.Timeout }>()
  readonly #takers: ((key: K | undefined) => void)[] = []
  readonly #baseMs: number
  readonly #maxMs: number
  readonly #figures: QueueFigures | undefined
  #closed = false

  constructor(options: WorkQueueOptions = {}) {
    this.#baseMs = options.backoffBaseMs ?? 5
    this.#maxMs = options.backoffMaxMs ?? 10_000
    this.#figures = options.figures
  }

  get length(): number {
    return this.#turned.length + this.#waiting.length
  }

  add(key: K): void {
    if (this.#closed || this.#dirty.has(key)) return
    this.#dirty.add(key)
    this.#figures?.added(key)
    if (!this.#processing.has(key)) this.#enqueue(key)
  }

  /** Adds the key in `ms`; of several waits for one key the earliest counts. */
  addAfter(key: K, ms: number): void {
    if (this.#closed) return
    this.#figures?.retried()
    if (ms <= 0) {
      this.add(key)
      return
    }
    const dueMs = performance.now() + ms
    const known = this.#delayed.get(key)
    if (known !== undefined) {
      if (known.dueMs <= dueMs) return
      clearTimeout(known.timer)
    }
    this.#delay(key, dueMs)
  }

  #delay(key: K, dueMs: number): void {
    const timer = setTimer(() => {
      this.#delayed.delete(key)
      this.add(key)
    }, dueMs - performance.now())
    this.#delayed.set(key, { dueMs, timer })
  }

  /** The clock by which keys were told to wait has moved by `byMs`: they come that much sooner. */
  moved(byMs: number): void {
    for (const [key, { dueMs, timer }] of [...this.#delayed]) {
      clearTimeout(timer)
      this.#delay(key, dueMs - byMs)
    }
  }

  /** Adds the key after a wait that doubles with each call until `forget`. */
  addRateLimited(key: K): void {
    const delayMs = this.backoffMsOf(key)
    this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1)
    this.addAfter(key, delayMs)
  }
  forget(key: K): void {
    this.#failures.delete(key)
  }
  /** How long the key would wait after a failure now. */
  backoffMsOf(key: K): number {
    const failures = this.#failures.get(key) ?? 0
    return Math.min(this.#maxMs, this.#baseMs * 2 ** Math.min(failures, 30))
  }

  /** The next key, when there is one; undefined once the queue is closed. `done` must follow. */
  take(): Promise<K | undefined> {
    if (this.#closed) return Promise.resolve(undefined)
    if (this.#turned.length === 0) {
      this.#turned = this.#waiting.reverse()
      this.#waiting = []
    }
    const key = this.#turned.pop()
    if (key !== undefined) return Promise.resolve(this.#begin(key))
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  done(key: K): void {
    this.#figures?.done(key)
    this.#processing.delete(key)
    if (this.#dirty.has(key)) this.#enqueue(key)
  }

  close(): void {
    this.#closed = true
    for (const { timer } of this.#delayed.values()) clearTimeout(timer)
    this.#delayed.clear()
    for (const taker of this.#takers.splice(0)) taker(undefined)
  }

  #enqueue(key: K): void {
    const taker = this.#takers.shift()
    if (taker !== undefined) taker(this.#begin(key))
    else this.#waiting.push(key)
  }
  #begin(key: K): K {
    this.#figures?.begun(key)
    this.#dirty.delete(key)
    this.#processing.add(key)
    return key
  }
}

/** A sync may ask to be called again for its key after some milliseconds. */
export type SyncResult = Promise<{ afterMs: number } | undefined> | Promise<void>

interface WorkOptions<K> {
  queue: WorkQueue<K>
  workers: number
  sync(key: K): SyncResult
  /** The one by which syncs say when they want to be called again; missing where none does. */
  clock?: Clock
  log: Log
  signal: AbortSignal
}

/** Works on the queue until the signal fires; a sync that throws is tried again with back-off. */
export const work = async <K>(options: WorkOptions<K>): Promise<void> => {
  const { queue, clock, signal } = options
  if (signal.aborted) queue.close()
  signal.addEventListener('abort', () => queue.close(), { once: true })
  const ignoreMoves = clock?.onMove?.((byMs) => queue.moved(byMs))
  await Promise.all(Array.from({ length: options.workers }, () => workOne(options)))
  ignoreMoves?.()
}

/** A back-off this long, the longest by default, has been preceded by as long a time of failures: longer than another process takes to start. */
const newsFromMs = 10_000

const workOne = async <K>({ queue, sync, log }: WorkOptions<K>): Promise<void> => {
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    try {
      const result = await sync(key)
      queue.forget(key)
      if (result) queue.addAfter(key, result.afterMs)
    } catch (error) {
      const level = isConflict(error)
        ? 'debug'
        : queue.backoffMsOf(key) < newsFromMs
          ? 'info'
          : 'warn'
      log[level]({ key, error: messageOf(error) }, 'sync failed, will retry')
      queue.addRateLimited(key)
    }
    queue.done(key)
  }
}
