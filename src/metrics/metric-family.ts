/** Metrics that are counted where something happens and read when somebody scrapes. */
import { Histogram, type HistogramFigures } from './histogram.js'

export type MetricLabels = Readonly<Record<string, string>>

export interface MetricValue {
  readonly labels: MetricLabels
  readonly value: number | HistogramFigures
}

export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  values(): readonly MetricValue[]
}

interface Labelled<T> {
  readonly labels: MetricLabels
  value: T
}

/** A value for each set of labels, or for those that were used last. */
class Series<T> {
  readonly #make: () => T
  readonly #max: number
  readonly #series = new Map<string, Labelled<T>>()

  constructor(make: () => T, max = Number.POSITIVE_INFINITY) {
    this.#make = make
    this.#max = max
  }

  of(labels: MetricLabels): Labelled<T> {
    const key = Object.values(labels).join('\0')
    let found = this.#series.get(key)
    if (found === undefined) {
      this.#series.set(key, (found = { labels, value: this.#make() }))
      if (this.#series.size > this.#max) this.#series.delete(this.#series.keys().next().value!)
    } else if (this.#max !== Number.POSITIVE_INFINITY) {
      this.#series.delete(key)
      this.#series.set(key, found)
    }
    return found
  }

  all(): readonly Labelled<T>[] {
    return [...this.#series.values()]
  }
}

/** A counter or a gauge. Labels are given in one order. */
export class MetricNumber implements MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly #series: Series<number>

  /**
   * Without labels the one series is there from the start. `seriesMax` bounds series whose labels come from outside.
   */
  constructor(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    { hasLabels, seriesMax }: { hasLabels: boolean; seriesMax?: number },
  ) {
    this.#series = new Series(() => 0, seriesMax)
    this.type = type
    this.name = name
    this.help = help
    if (!hasLabels) this.add({}, 0)
  }

  add(labels: MetricLabels, more = 1): void {
    this.#series.of(labels).value += more
  }

  set(labels: MetricLabels, value: number): void {
    this.#series.of(labels).value = value
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
  readonly #series: Series<Histogram>

  constructor(
    name: string,
    help: string,
    {
      bounds,
      hasLabels,
      seriesMax,
    }: { bounds: readonly number[]; hasLabels: boolean; seriesMax?: number },
  ) {
    this.name = name
    this.help = help
    this.#series = new Series(() => new Histogram(bounds), seriesMax)
    if (!hasLabels) this.#series.of({})
  }

  observe(labels: MetricLabels, value: number): void {
    this.#series.of(labels).value.observe(value)
  }

  values(): readonly MetricValue[] {
    return this.#series.all()
  }
}
