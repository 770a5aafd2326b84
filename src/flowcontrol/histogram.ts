/** Histograms as Prometheus has them: of what is observed, and of what a figure is for how long. */

export interface HistogramFigures {
  readonly bounds: readonly number[]
  /** Not cumulative; beyond the last bound nothing is kept but the count. */
  readonly buckets: readonly number[]
  readonly sum: number
  readonly count: number
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

  observe(value: number, times = 1): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++
    if (bucket < bounds.length) this.buckets[bucket]! += times
    this.sum += value * times
    this.count += times
  }
}

const nsPerMs = 1e6

/**
 * A part of a whole, observed at the end of every nanosecond (apiserver, util/flowcontrol/metrics TimingRatioHistogram):
 * what is counted are nanoseconds.
 */
export class RatioHistogram {
  readonly figures: Histogram
  denominator = 1

  constructor(bounds: readonly number[]) {
    this.figures = new Histogram(bounds)
  }

  add(numerator: number, ms: number): void {
    this.figures.observe(numerator / this.denominator, ms * nsPerMs)
  }
}

/**
 * For how long something was how many. Each request changes such a number twice, so that this must cost nothing: what
 * comes of it is worked out when somebody looks.
 */
export class TimeByCount {
  #times = new Float64Array(16)

  add(count: number, ms: number): void {
    if (count >= this.#times.length) {
      const longer = new Float64Array(2 * count)
      longer.set(this.#times)
      this.#times = longer
    }
    this.#times[count]! += ms
  }

  /** Forgets what it has shown. */
  take(visit: (count: number, ms: number) => void): void {
    for (const [count, ms] of this.#times.entries()) if (ms > 0) visit(count, ms)
    this.#times.fill(0)
  }
}
