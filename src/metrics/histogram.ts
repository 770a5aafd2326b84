/** A histogram as Prometheus has them. */

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
