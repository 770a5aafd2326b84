/**
 * A map in key order: entries in chunks, so that an insert moves a few hundred references however many there are,
 * and a hash beside them, so that a read by key costs no comparisons of long common prefixes.
 */
import { limits } from '#limits'

/** Stays the same as long as its key is there. */
export interface Entry<V> {
  readonly key: string
  value: V
}

export class SortedMap<V> {
  readonly #chunks: Entry<V>[][] = []
  readonly #entries = new Map<string, Entry<V>>()

  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  entry(key: string): Entry<V> | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: V): Entry<V> {
    let entry = this.#entries.get(key)
    if (entry === undefined) this.#insert((entry = { key, value }))
    else entry.value = value
    return entry
  }

  /** The entry that is gone. */
  delete(key: string): Entry<V> | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    const at = this.#chunkOf(key)
    const chunk = this.#chunks[at]!
    chunk.splice(lowerBound(chunk, key), 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
    return entry
  }

  /** All entries in order, as they are now. */
  all(): Entry<V>[] {
    return this.#chunks.flat()
  }

  /** Visits entries from `start` on, in order, while their keys have `prefix` and `visit` does not yield false. */
  scan(prefix: string, start: string, visit: (value: V, key: string) => unknown): void {
    for (let at = this.#chunkOf(start > prefix ? start : prefix); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!
      const [from, to] = rangeOf(chunk, prefix, start)
      for (let index = from; index < to; index++) {
        const entry = chunk[index]!
        if (visit(entry.value, entry.key) === false) return
      }
      if (to < chunk.length) return
    }
  }

  /** How many keys with `prefix` there are from `start` on; costs the number of chunks. */
  count(prefix: string, start: string): number {
    const end = prefixEnd(prefix)
    const upper = end === undefined ? this.size : this.#rank(end)
    return Math.max(0, upper - this.#rank(start > prefix ? start : prefix))
  }

  #rank(key: string): number {
    const at = this.#chunkOf(key)
    let rank = 0
    for (let i = 0; i < at; i++) rank += this.#chunks[i]!.length
    return at === this.#chunks.length ? rank : rank + lowerBound(this.#chunks[at]!, key)
  }

  /** The first chunk whose last key is not below `key`; the number of chunks when there is none. */
  #chunkOf(key: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = this.#chunks[middle]!
      if (chunk[chunk.length - 1]!.key < key) low = middle + 1
      else high = middle
    }
    return low
  }

  #insert(entry: Entry<V>): void {
    this.#entries.set(entry.key, entry)
    if (this.#chunks.length === 0) {
      this.#chunks.push([entry])
      return
    }
    // Whatever is loaded in order is appended without a search.
    const last = this.#chunks[this.#chunks.length - 1]!
    if (entry.key > last[last.length - 1]!.key && last.length < limits.chunkLengthMax) {
      last.push(entry)
      return
    }
    const at = Math.min(this.#chunkOf(entry.key), this.#chunks.length - 1)
    const chunk = this.#chunks[at]!
    chunk.splice(lowerBound(chunk, entry.key), 0, entry)
    if (chunk.length <= limits.chunkLengthMax) return
    // Keys often come in order: a full last chunk is left nearly full, others are halved.
    const cut =
      at === this.#chunks.length - 1 ? limits.chunkLengthMax - 16 : limits.chunkLengthMax >>> 1
    this.#chunks.splice(at + 1, 0, chunk.splice(cut))
  }
}

/** Where the keys with `prefix` from `start` on are in entries in key order: reading each key costs more than a visit. */
export const rangeOf = (
  entries: readonly Entry<unknown>[],
  prefix: string,
  start: string,
): [from: number, to: number] => {
  const end = prefixEnd(prefix)
  const goesOn = end === undefined || entries.length === 0 || entries[entries.length - 1]!.key < end
  const to = goesOn ? entries.length : lowerBound(entries, end)
  return [lowerBound(entries, start > prefix ? start : prefix), to]
}

const lowerBound = <V>(chunk: readonly Entry<V>[], key: string): number => {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (chunk[middle]!.key < key) low = middle + 1
    else high = middle
  }
  return low
}

/** The first string that is above everything with this prefix; undefined when there is none. */
const prefixEnd = (prefix: string): string | undefined => {
  for (let i = prefix.length - 1; i >= 0; i--) {
    const code = prefix.charCodeAt(i)
    if (code < 0xffff) return prefix.slice(0, i) + String.fromCharCode(code + 1)
  }
  return undefined
}
