/** Numbers of executing and waiting requests, reading and writing ones apart, for metrics. */
import type { HistogramFigures } from '#metrics/histogram.js'
import { RatioHistogram, TimeByCount } from './ratio-histogram.js'

const bounds = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]

class Gauge {
  readonly #times = new TimeByCount()
  readonly #ratio = new RatioHistogram(bounds)
  #value = 0
  #since: number
  #highest = 0
  #lastHighest = 0

  constructor(now: number) {
    this.#since = now
  }

  get value(): number {
    return this.#value
  }

  add(change: number, now: number): void {
    this.#times.add(this.#value, now - this.#since)
    this.#since = now
    this.#value += change
    if (this.#value > this.#highest) this.#highest = this.#value
  }

  /** Sets the denominator from now on. */
  setWhole(denominator: number, now: number): void {
    this.#account(now)
    this.#ratio.denominator = denominator
  }

  /** As a ratio to the denominator. */
  use(now: number): HistogramFigures {
    this.#account(now)
    return this.#ratio.figures
  }

  /** The maximum of the last full second. */
  get highest(): number {
    return this.#lastHighest
  }

  endSecond(): void {
    this.#lastHighest = this.#highest
    this.#highest = this.#value
  }

  #account(now: number): void {
    this.add(0, now)
    this.#times.take((value, ms) => this.#ratio.add(value, ms))
  }
}

/** Of one kind of request. */
export interface InFlightGauges {
  readonly executing: Gauge
  readonly waiting: Gauge
}

export type RequestKind = 'readOnly' | 'mutating'

const readOnlyVerbs = new Set(['get', 'list', 'watch'])

export const kindOfVerb = (verb: string): RequestKind =>
  readOnlyVerbs.has(verb) ? 'readOnly' : 'mutating'

export class InFlight {
  readonly readOnly: InFlightGauges
  readonly mutating: InFlightGauges

  constructor(now: number) {
    this.readOnly = { executing: new Gauge(now), waiting: new Gauge(now) }
    this.mutating = { executing: new Gauge(now), waiting: new Gauge(now) }
  }

  endSecond(): void {
    for (const { executing, waiting } of [this.readOnly, this.mutating]) {
      executing.endSecond()
      waiting.endSecond()
    }
  }
}
