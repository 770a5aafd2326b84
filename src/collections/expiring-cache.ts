/** A bounded cache in which each entry has a lifetime of its own (apimachinery, pkg/util/cache: LRUExpireCache). */
import { Lru } from './lru.js'

export class ExpiringCache<T> {
  readonly #entries: Lru<{ value: T; untilMs: number }>

  constructor(max: number) {
    this.#entries = new Lru(max)
  }

  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || now < entry.untilMs) return entry?.value
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, value: T, untilMs: number): void {
    this.#entries.set(key, { value, untilMs })
  }
}
