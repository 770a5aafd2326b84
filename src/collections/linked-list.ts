/**
 * A doubly linked list. A Map with many adds and deletes is rehashed every few entries, and its former tables keep
 * removed entries alive until a full garbage collection, so that the young generation's collector copies every entry.
 */
export interface Linked<T> {
  before: T | undefined
  after: T | undefined
}

/** In the order in which they came. An entry is in one list at a time. */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined
  #last: T | undefined
  #length = 0

  get first(): T | undefined {
    return this.#first
  }
  get length(): number {
    return this.#length
  }

  add(entry: T): void {
    entry.before = this.#last
    if (this.#last === undefined) this.#first = entry
    else this.#last.after = entry
    this.#last = entry
    this.#length++
  }

  remove(entry: T): void {
    const { before, after } = entry
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    entry.before = undefined
    entry.after = undefined
    this.#length--
  }

  /** The next entry is looked up before an entry is yielded: the caller may remove that one. */
  *[Symbol.iterator](): Generator<T, void> {
    for (let entry = this.#first; entry !== undefined; ) {
      const { after } = entry
      yield entry
      entry = after
    }
  }
}
