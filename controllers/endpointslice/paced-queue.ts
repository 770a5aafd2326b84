/**
 * A queue whose keys rest after their sync for a multiple of what it took: one change is told at once, a thousand
 * changes of one large Service are told together. Otherwise n Pods that start cost n times n.
 */
import type { Log } from '#client/log.js'
import { WorkQueue, work } from '#client/work-queue.js'
import { type Run, workersDefault } from '../controller.js'

/** A sync that was this short may follow itself at once. */
const freeMs = 5

export class PacedQueue {
  readonly #queue = new WorkQueue<string>()
  /** When each key may come again, on the monotonic clock. */
  readonly #rested = new Map<string, number>()
  readonly #restFactor: number

  constructor(restFactor: number) {
    this.#restFactor = restFactor
  }

  add(key: string): void {
    this.#queue.addAfter(key, (this.#rested.get(key) ?? 0) - performance.now())
  }

  run(log: Log, sync: (key: string) => Promise<void>): Run {
    const timed = async (key: string): Promise<void> => {
      const began = performance.now()
      this.#rested.delete(key)
      await sync(key)
      const ended = performance.now()
      if (ended - began > freeMs) this.#rested.set(key, ended + (ended - began) * this.#restFactor)
    }
    return (signal) =>
      work({ queue: this.#queue, sync: timed, workers: workersDefault, log, signal })
  }
}
