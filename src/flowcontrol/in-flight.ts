/** How many requests are answered now and how many wait for that, reading and writing ones apart, as metrics tell. */
import { RatioHistogram } from './histogram.js'

const bounds = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]

class Gauge {
  readonly ratio: RatioHistogram
  value = 0
  #highest = 0
  #lastHighest = 0

  constructor(now: number) {
    this.ratio = new RatioHistogram(bounds, now)
  }

  add(change: number, now: number): void {
    this.value += change
    if (this.value > this.#highest) this.#highest = this.value
    this.ratio.set(this.value, now)
  }

  /** In the second that has ended last. */
  get highest(): number {
    return this.#lastHighest
  }

  endSecond(): void {
    this.#lastHighest = this.#highest
    this.#highest = this.value
  }
}

export type RequestKind = 'readOnly' | 'mutating'

const readOnlyVerbs = new Set(['get', 'list', 'watch'])

export const kindOfVerb = (verb: string): RequestKind =>
  readOnlyVerbs.has(verb) ? 'readOnly' : 'mutating'

export class InFlight {
  readonly executing: Readonly<Record<RequestKind, Gauge>>
  readonly waiting: Readonly<Record<RequestKind, Gauge>>

  constructor(now: number) {
    this.executing = { readOnly: new Gauge(now), mutating: new Gauge(now) }
    this.waiting = { readOnly: new Gauge(now), mutating: new Gauge(now) }
  }

  endSecond(): void {
    for (const { readOnly, mutating } of [this.executing, this.waiting]) {
      readOnly.endSecond()
      mutating.endSecond()
    }
  }
}
