/**
 * A queue whose keys rest after a sync, the longer the larger the Service is: a single change is written at once, and a
 * thousand changes of a large Service are written together. Otherwise n starting Pods would cost n² work.
 */
import { type WorkQueue, work } from '#client/work-queue.js'
import { type ControllerContext, newQueue, type Run } from '../controller.js'

/** A Service of up to so many endpoints may follow itself at once. */
const freeSize = 100

export class PacedQueue {
  readonly #queue: WorkQueue<string>
  /** When each key may come again, on the monotonic clock. */
  readonly #rested = new Map<string, number>()
  readonly #restMsPerEndpoint: number
  readonly #leadMs: number

  /** `leadMs`: how long a key waits at least, so that what matters more is written first. */
  constructor(
    context: Pick<ControllerContext, 'queues'>,
    name: string,
    {
      backoffBaseMs,
      ...options
    }: {
      restMsPerEndpoint: number
      leadMs?: number
      backoffBaseMs?: number
    },
  ) {
    this.#queue = newQueue(context, name, backoffBaseMs === undefined ? {} : { backoffBaseMs })
    this.#restMsPerEndpoint = options.restMsPerEndpoint
    this.#leadMs = options.leadMs ?? 0
  }

  add(key: string): void {
    const restMs = (this.#rested.get(key) ?? 0) - performance.now()
    this.#queue.addAfter(key, Math.max(restMs, this.#leadMs))
  }

  /** `sync` answers how many endpoints it looked at. */
  run(
    { log, workers }: Pick<ControllerContext, 'log' | 'workers'>,
    sync: (key: string) => Promise<number>,
  ): Run {
    const paced = async (key: string): Promise<void> => {
      this.#rested.delete(key)
      const size = await sync(key)
      if (size > freeSize) this.#rested.set(key, performance.now() + size * this.#restMsPerEndpoint)
    }
    return (signal) => work({ queue: this.#queue, sync: paced, workers, log, signal })
  }
}
