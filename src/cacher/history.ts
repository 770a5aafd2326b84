/** Rings in the order of their changes, with the time of each: what is too old or too much goes from the front. */
import { limits } from '#limits'
import type { ResourceCache } from './resource-cache.js'

export class History {
  #changes: { cache: ResourceCache; bytes: number; at: number }[] = []
  #first = 0
  #bytes = 0

  add(cache: ResourceCache, bytes: number, at: number): void {
    this.#changes.push({ cache, bytes, at })
    this.#bytes += bytes
  }

  trim(now: number): void {
    const oldest = now - limits.watchHistoryMs
    while (this.#first < this.#changes.length) {
      const { cache, bytes, at } = this.#changes[this.#first]!
      if (this.#bytes <= limits.watchHistoryBytesMax && at >= oldest) break
      cache.dropOldest()
      this.#bytes -= bytes
      this.#first++
    }
    if (this.#first > 4096 && this.#first * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#first)
      this.#first = 0
    }
  }
}
