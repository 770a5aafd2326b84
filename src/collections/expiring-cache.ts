/**
 * A bounded cache in which each entry has a lifetime of its own (apimachinery, pkg/util/cache: LRUExpireCache). What has a
 * long key is not kept: clients choose most of them, and could fill the memory with a few thousand.
 */
import { limits } from '#limits'
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
    if (key.length <= limits.keptQuestionLengthMax) this.#entries.set(key, { value, untilMs })
  }
}
