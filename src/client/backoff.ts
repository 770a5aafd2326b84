/** Waiting that a signal ends, and how long to wait after the n-th failure. */
import { setTimeout as sleepFor } from 'node:timers/promises'
import { type Random, systemRandom } from './random.js'

/** Resolves after `ms`, or at once when the signal fires; never rejects. */
export const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  try {
    await sleepFor(ms, undefined, { signal })
  } catch {
    // The caller looks at its signal.
  }
}

/** Resolves when the signal fires, at once when it has. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Doubles from `baseMs` to `maxMs`, with up to half of it as jitter; `reset` starts again. */
export class Backoff {
  #failures = 0
  readonly #baseMs: number
  readonly #maxMs: number
  readonly #random: Random

  constructor(options: { baseMs: number; maxMs: number; random?: Random }) {
    this.#baseMs = options.baseMs
    this.#maxMs = options.maxMs
    this.#random = options.random ?? systemRandom
  }

  next(): number {
    const ms = Math.min(this.#maxMs, this.#baseMs * 2 ** Math.min(this.#failures, 30))
    this.#failures++
    return ms * (1 + this.#random() / 2)
  }
  reset(): void {
    this.#failures = 0
  }
}
