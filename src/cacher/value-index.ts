/** Entries by their value of one label or selectable field, so that a list by it costs only what it returns. */
import { limits } from '#limits'
import { type Entry, rangeOf } from '#storage/sorted-map.js'

interface Group<V> {
  readonly members: Set<Entry<V>>
  /** The members in key order, once somebody has asked. */
  sorted: readonly Entry<V>[] | undefined
  /** The last list that was made of them, until one of them is written. */
  listed: { readonly prefix: string; readonly values: readonly V[] } | undefined
}

export interface Listed<V> {
  readonly values: readonly V[]
  /** Whether the very same array was returned before. */
  readonly isSame: boolean
}

const byKey = (a: Entry<unknown>, b: Entry<unknown>): number => (a.key < b.key ? -1 : 1)

export class ValueIndex<V extends { readonly size: number }> {
  readonly #groups = new Map<string, Group<V>>()
  readonly #valueOf = new Map<Entry<V>, string>()

  /** `value` undefined: the entry is gone or has none. */
  set(entry: Entry<V>, value: string | undefined): void {
    const before = this.#valueOf.get(entry)
    if (before === value) {
      if (value !== undefined) this.#groups.get(value)!.listed = undefined
      return
    }
    if (before !== undefined) this.#leave(entry, before)
    if (value === undefined) return
    this.#valueOf.set(entry, value)
    const group = this.#groups.get(value)
    if (group === undefined) {
      this.#groups.set(value, {
        members: new Set([entry]),
        sorted: undefined,
        listed: undefined,
      })
      return
    }
    group.members.add(entry)
    group.sorted = undefined
    group.listed = undefined
  }

  #leave(entry: Entry<V>, value: string): void {
    this.#valueOf.delete(entry)
    const group = this.#groups.get(value)!
    group.members.delete(entry)
    group.sorted = undefined
    group.listed = undefined
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

  /** The values of the keys under `prefix`, in key order: unless they are large, the same array until one of them is written. */
  list(value: string, prefix: string): Listed<V> {
    const group = this.#groups.get(value)
    if (group === undefined) return { values: [], isSame: false }
    if (group.listed?.prefix === prefix) return { values: group.listed.values, isSame: true }
    const entries = this.entries(value)
    const [from, to] = rangeOf(entries, prefix, prefix)
    const values = entries.slice(from, to).map((entry) => entry.value)
    const bytes = values.reduce((sum, { size }) => sum + size, 0)
    if (bytes <= limits.joinedListBytesMax) group.listed = { prefix, values }
    return { values, isSame: false }
  }
}
