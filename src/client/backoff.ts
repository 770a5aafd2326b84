import { type Random, systemRandom } from './random.js'

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
