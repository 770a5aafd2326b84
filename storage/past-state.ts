/**
 * What a store held at a past revision. Only the keys that changed since are looked at, so that a page of an old list costs
 * the changes and the page, however many keys there are.
 */
import type { KeyValue, StorageEvent } from './driver.js'
import type { SortedMap } from './sorted-map.js'

type Scanned = Pick<SortedMap<KeyValue>, 'scan' | 'count'>

export class PastState implements Scanned {
  readonly #current: SortedMap<KeyValue>
  /** The keys that changed, with what they were; undefined: not there. */
  readonly #before = new Map<string, KeyValue | undefined>()

  /** `since`: the events after the revision on keys with the prefix that is going to be asked for, newest first. */
  constructor(current: SortedMap<KeyValue>, since: Iterable<StorageEvent>) {
    this.#current = current
    for (const { key, previous } of since) this.#before.set(key, previous)
  }

  scan(prefix: string, start: string, visit: (value: KeyValue, key: string) => unknown): void {
    const changed = this.#changedFrom(start)
    let next = 0
    let stopped = false
    const show = (value: KeyValue, key: string): boolean => {
      stopped = visit(value, key) === false
      return !stopped
    }
    const showChangedUpTo = (key: string | undefined): void => {
      for (; !stopped && next < changed.length; next++) {
        const kv = changed[next]!
        if (key !== undefined && kv.key > key) return
        show(kv, kv.key)
      }
    }
    this.#current.scan(prefix, start, (value, key) => {
      showChangedUpTo(key)
      return !stopped && (this.#before.has(key) || show(value, key))
    })
    showChangedUpTo(undefined)
  }

  count(prefix: string, start: string): number {
    let count = this.#current.count(prefix, start)
    for (const [key, before] of this.#before) {
      if (key < start) continue
      if (before !== undefined) count++
      if (this.#current.get(key) !== undefined) count--
    }
    return count
  }

  /** What was there of the keys that changed, in order. */
  #changedFrom(start: string): readonly KeyValue[] {
    const found: KeyValue[] = []
    for (const [key, before] of this.#before)
      if (before !== undefined && key >= start) found.push(before)
    return found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }
}
