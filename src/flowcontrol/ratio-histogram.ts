/** Histograms of a value over time. */
import { Histogram } from '#metrics/histogram.js'

const nsPerMs = 1e6

/**
 * A ratio, observed at the end of every nanosecond (apiserver, util/flowcontrol/metrics TimingRatioHistogram), so that
 * its counts are nanoseconds.
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
 * How long a number had which value. Each request changes it twice, so a change must be cheap: results are computed when
 * they are read.
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
