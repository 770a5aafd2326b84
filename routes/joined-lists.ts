/** The items of small lists that are asked for again and again, in one piece. */
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'

export class JoinedLists {
  #joined = new WeakMap<readonly StoredObject[], Buffer>()
  #bytes = 0
  #begunAt = 0

  /** What `join` makes of `items`, or made before; undefined while there is no room for more. */
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
   * Nobody says which of them are of the past, so all go; but not soon after the last time: of more lists than there is
   * room for most are found then, where they would take the place of each other.
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
