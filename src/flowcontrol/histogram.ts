/** Histograms as Prometheus has them: of what is observed, and of what a figure is for how long. */

export interface HistogramFigures {
  readonly bounds: readonly number[]
  /** Not cumulative; beyond the last bound nothing is kept but the count. */
  readonly buckets: readonly number[]
  readonly sum: number
  readonly count: number
}

/** The first bucket that holds the value. */
const bucketOf = (bounds: readonly number[], value: number): number => {
  let at = 0
  while (at < bounds.length && value > bounds[at]!) at++
  return at
}

export class Histogram implements HistogramFigures {
  readonly bounds: readonly number[]
  readonly buckets: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.buckets = new Array<number>(bounds.length).fill(0)
  }

  observe(value: number): void {
    const bucket = bucketOf(this.bounds, value)
    if (bucket < this.bounds.length) this.buckets[bucket]!++
    this.sum += value
    this.count++
  }
}

const nsPerMs = 1e6

/**
 * A part of a whole, observed at the end of every nanosecond (apiserver, util/flowcontrol/metrics TimingRatioHistogram):
 * what is counted are nanoseconds. Times are milliseconds.
 */
export class RatioHistogram {
  readonly #bounds: readonly number[]
  readonly #buckets: number[]
  #sum = 0
  #count = 0
  #numerator = 0
  #denominator = 1
  #ratio = 0
  #bucket: number
  #since: number

  constructor(bounds: readonly number[], now: number) {
    this.#bounds = bounds
    this.#buckets = new Array<number>(bounds.length).fill(0)
    this.#bucket = bucketOf(bounds, 0)
    this.#since = now
  }

  set(numerator: number, now: number): void {
    if (numerator !== this.#numerator) this.#change(numerator, this.#denominator, now)
  }

  setDenominator(denominator: number, now: number): void {
    if (denominator !== this.#denominator) this.#change(this.#numerator, denominator, now)
  }

  figures(now: number): HistogramFigures {
    this.#account(now)
    return {
      bounds: this.#bounds,
      buckets: [...this.#buckets],
      sum: this.#sum,
      count: this.#count,
    }
  }

  #change(numerator: number, denominator: number, now: number): void {
    this.#account(now)
    this.#numerator = numerator
    this.#denominator = denominator
    this.#ratio = numerator / denominator
    this.#bucket = bucketOf(this.#bounds, this.#ratio)
  }

  #account(now: number): void {
    const nanoseconds = (now - this.#since) * nsPerMs
    this.#since = now
    if (this.#bucket < this.#bounds.length) this.#buckets[this.#bucket]! += nanoseconds
    this.#sum += this.#ratio * nanoseconds
    this.#count += nanoseconds
  }
}
