/** The items of small lists that are asked for again and again, in one piece. */
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'

export class JoinedLists {
  #joined = new WeakMap<readonly StoredObject[], Buffer>()
  #bytes = 0
  #begunAt = 0

  /** The result of `join`, kept for the same `items`; undefined while there is no room. */
  get(items: readonly StoredObject[], join: () => Buffer): Buffer | undefined {
    const known = this.#joined.get(items)
    if (known !== undefined) return known
    if (this.#bytes > limits.joinedListsBytesMax && !this.#beginAnew()) return undefined
    const bytes = join()
    this.#bytes += bytes.length
    this.#joined.set(items, bytes)
    return bytes
  }

  /**
   * Drops all of them, since nothing tells which are outdated. Not soon after the last time: with more lists than there
   * is room for, those that are kept are still found, where otherwise they would only displace each other.
   */
  #beginAnew(): boolean {
    const now = performance.now()
    if (now - this.#begunAt < limits.joinedListsKeptMs) return false
    this.#begunAt = now
    this.#joined = new WeakMap()
    this.#bytes = 0
    return true
  }
}
