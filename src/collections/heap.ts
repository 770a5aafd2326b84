/** What comes first is at hand, whatever is added: a binary heap. Of equals any comes first. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  get size(): number {
    return this.#items.length
  }

  /** Forgets all others. */
  keep(isKept: (item: T) => boolean): void {
    for (const item of this.#items.splice(0)) if (isKept(item)) this.push(item)
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!this.#isBefore(item, items[above]!)) break
      items[at] = items[above]!
      at = above
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= items.length) break
      if (below + 1 < items.length && this.#isBefore(items[below + 1]!, items[below]!)) below++
      if (!this.#isBefore(items[below]!, last)) break
      items[at] = items[below]!
      at = below
    }
    items[at] = last
    return first
  }
}
