/** A bounded cache in which each entry has a lifetime of its own (apimachinery, pkg/util/cache: LRUExpireCache). */
import type { Clock } from './clock.js'

export class ExpiringCache<T> {
  readonly #max: number
  readonly #clock: Clock
  readonly #entries = new Map<string, { value: T; expiresAt: number }>()

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (entry.expiresAt <= this.#clock.now()) return undefined
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Whoever was not asked for the longest time goes where there are too many. */
  set(key: string, value: T, lifetimeMs: number): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#max) this.#entries.delete(this.#entries.keys().next().value!)
    this.#entries.set(key, { value, expiresAt: this.#clock.now() + lifetimeMs })
  }
}
