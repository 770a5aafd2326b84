/** Metrics that are counted where something happens and read when somebody scrapes. */

export type MetricLabels = Readonly<Record<string, string>>

export interface MetricValue {
  readonly labels: MetricLabels
  readonly value: number
  /** Of histograms: NAME_bucket, NAME_sum, NAME_count. */
  readonly suffix?: string
}

export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  values(): readonly MetricValue[]
}

/** A value for each set of labels, or for those that were used last. */
class Series<T extends object> {
  readonly #max: number
  readonly #series = new Map<string, T & { labels: MetricLabels }>()

  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max
  }

  of(labels: MetricLabels, make: () => T): T {
    const key = Object.values(labels).join('\0')
    let found = this.#series.get(key)
    if (found === undefined) {
      this.#series.set(key, (found = { ...make(), labels }))
      if (this.#series.size > this.#max) this.#series.delete(this.#series.keys().next().value!)
    } else if (this.#max !== Number.POSITIVE_INFINITY) {
      this.#series.delete(key)
      this.#series.set(key, found)
    }
    return found
  }

  all(): readonly (T & { labels: MetricLabels })[] {
    return [...this.#series.values()]
  }
}

/** A counter or a gauge. Labels are given in one order. */
export class MetricNumber implements MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly #series: Series<{ value: number }>

  /** One without labels is there from the start; `seriesMax` is for labels that somebody else makes up. */
  constructor(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    { hasLabels, seriesMax }: { hasLabels: boolean; seriesMax?: number },
  ) {
    this.#series = new Series(seriesMax)
    this.type = type
    this.name = name
    this.help = help
    if (!hasLabels) this.add({}, 0)
  }

  add(labels: MetricLabels, more = 1): void {
    this.#series.of(labels, () => ({ value: 0 })).value += more
  }

  set(labels: MetricLabels, value: number): void {
    this.#series.of(labels, () => ({ value })).value = value
  }

  values(): readonly MetricValue[] {
    return this.#series.all()
  }
}

/** Upstream's ExponentialBuckets. */
export const exponentialBuckets = (start: number, factor: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => start * factor ** i)

export class MetricHistogram implements MetricFamily {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #bounds: readonly number[]
  readonly #series = new Series<{ counts: number[]; sum: number; count: number }>()

  constructor(
    name: string,
    help: string,
    { bounds, hasLabels }: { bounds: readonly number[]; hasLabels: boolean },
  ) {
    this.name = name
    this.help = help
    this.#bounds = bounds
    if (!hasLabels) this.#of({})
  }

  observe(labels: MetricLabels, value: number): void {
    const series = this.#of(labels)
    const at = this.#bounds.findIndex((bound) => value <= bound)
    if (at >= 0) series.counts[at]!++
    series.sum += value
    series.count++
  }

  values(): readonly MetricValue[] {
    return this.#series.all().flatMap(({ labels, counts, sum, count }) => {
      let below = 0
      const steps = this.#bounds.map((bound, at) => {
        below += counts[at]!
        return { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below }
      })
      return [
        ...steps,
        { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
        { suffix: '_sum', labels, value: sum },
        { suffix: '_count', labels, value: count },
      ]
    })
  }

  #of(labels: MetricLabels) {
    return this.#series.of(labels, () => ({ counts: this.#bounds.map(() => 0), sum: 0, count: 0 }))
  }
}
