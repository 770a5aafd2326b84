/** A bounded cache in which each entry has a lifetime of its own (apimachinery, pkg/util/cache: LRUExpireCache). */
import type { Clock } from './clock.js'
import { Lru } from './lru.js'

export class ExpiringCache<T> {
  readonly #clock: Clock
  readonly #entries: Lru<{ value: T; expiresAt: number }>

  constructor(max: number, clock: Clock) {
    this.#clock = clock
    this.#entries = new Lru(max)
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.expiresAt > this.#clock.now()) return entry?.value
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, value: T, lifetimeMs: number): void {
    this.#entries.set(key, { value, expiresAt: this.#clock.now() + lifetimeMs })
  }
}
