/** Which entries have which value of one label or selectable field: a list by it costs what it returns. */
import type { Entry } from '#storage/sorted-map.js'

interface Group<V> {
  readonly members: Set<Entry<V>>
  /** The members in key order, once somebody has asked. */
  sorted: readonly Entry<V>[] | undefined
}

const byKey = (a: Entry<unknown>, b: Entry<unknown>): number => (a.key < b.key ? -1 : 1)

export class ValueIndex<V> {
  readonly #groups = new Map<string, Group<V>>()
  readonly #valueOf = new Map<Entry<V>, string>()

  /** `value` undefined: the entry is gone or has none. */
  set(entry: Entry<V>, value: string | undefined): void {
    const before = this.#valueOf.get(entry)
    if (before === value) return
    if (before !== undefined) this.#leave(entry, before)
    if (value === undefined) return
    this.#valueOf.set(entry, value)
    const group = this.#groups.get(value)
    if (group === undefined) {
      this.#groups.set(value, { members: new Set([entry]), sorted: undefined })
      return
    }
    group.members.add(entry)
    group.sorted = undefined
  }

  #leave(entry: Entry<V>, value: string): void {
    this.#valueOf.delete(entry)
    const group = this.#groups.get(value)!
    group.members.delete(entry)
    group.sorted = undefined
    if (group.members.size === 0) this.#groups.delete(value)
  }

  count(value: string): number {
    return this.#groups.get(value)?.members.size ?? 0
  }

  /** In key order. */
  entries(value: string): readonly Entry<V>[] {
    const group = this.#groups.get(value)
    if (group === undefined) return []
    group.sorted ??= [...group.members].sort(byKey)
    return group.sorted
  }
}
