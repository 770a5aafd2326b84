/** A window of events in revision order, dropped from its old end: readers keep a revision as their cursor. */

export class EventLog<E extends { readonly revision: number }> {
  #events: (E | undefined)[] = []
  #first = 0
  #bytes = 0
  readonly #sizeOf: (event: E) => number

  /** `sizeOf` says what holding an event costs, in bytes. */
  constructor(sizeOf: (event: E) => number) {
    this.#sizeOf = sizeOf
  }

  get length(): number {
    return this.#events.length - this.#first
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Index for `at` of the first event after `revision`; `length` when there is none. */
  indexAfter(revision: number): number {
    let low = this.#first
    let high = this.#events.length
    // Nearly every reader is at the end.
    if (high === low || this.#events[high - 1]!.revision <= revision) return high - low
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#events[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return low - this.#first
  }

  /** `index` is below `length`. */
  at(index: number): E {
    return this.#events[this.#first + index]!
  }

  append(event: E): void {
    this.#events.push(event)
    this.#bytes += this.#sizeOf(event)
  }

  /** Drops the oldest event. */
  shift(): E | undefined {
    if (this.length === 0) return undefined
    const event = this.#events[this.#first]!
    // The slot is cleared so that the event can be collected before the array is cut.
    this.#events[this.#first] = undefined
    this.#first++
    this.#bytes -= this.#sizeOf(event)
    if (this.#first > 1024 && this.#first * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#first)
      this.#first = 0
    }
    return event
  }

  /** Drops events up to and with `revision`. */
  dropThrough(revision: number): void {
    while (this.length > 0 && this.at(0).revision <= revision) this.shift()
  }
}
