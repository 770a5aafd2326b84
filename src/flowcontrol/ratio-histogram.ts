/** Histograms of what a figure is for how long. */
import { Histogram } from '#api/histogram.js'

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
