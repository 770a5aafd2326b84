/** What queues of keys tell of themselves. Upstream: client-go/util/workqueue/metrics.go. */
import {
  exponentialBuckets,
  type MetricFamily,
  MetricHistogram,
  type MetricLabels,
  MetricNumber,
  type MetricValue,
} from '#metrics/metric-family.js'

const hasLabels = true
const bounds = exponentialBuckets(1e-8, 10, 10)

const makeFamilies = () => ({
  adds: new MetricNumber(
    'counter',
    'workqueue_adds_total',
    '[BETA] Total number of adds handled by workqueue',
    { hasLabels },
  ),
  depth: new MetricNumber('gauge', 'workqueue_depth', '[BETA] Current depth of workqueue', {
    hasLabels,
  }),
  retries: new MetricNumber(
    'counter',
    'workqueue_retries_total',
    '[BETA] Total number of retries handled by workqueue',
    { hasLabels },
  ),
  waited: new MetricHistogram(
    'workqueue_queue_duration_seconds',
    '[BETA] How long in seconds an item stays in workqueue before being requested.',
    { bounds, hasLabels },
  ),
  worked: new MetricHistogram(
    'workqueue_work_duration_seconds',
    '[BETA] How long in seconds processing an item from workqueue takes.',
    { bounds, hasLabels },
  ),
})

/** Of one queue. Times are those of performance.now. */
export class QueueFigures {
  readonly labels: MetricLabels
  readonly #families: ReturnType<typeof makeFamilies>
  readonly #addedMs = new Map<unknown, number>()
  readonly #begunMs = new Map<unknown, number>()

  constructor(name: string, families: ReturnType<typeof makeFamilies>) {
    this.labels = { name }
    this.#families = families
    const { adds, depth, retries } = families
    for (const family of [adds, depth, retries]) family.add(this.labels, 0)
  }

  /** The key will be worked on; it may still be worked on for an earlier reason. */
  added(key: unknown): void {
    this.#families.adds.add(this.labels)
    this.#families.depth.add(this.labels)
    this.#addedMs.set(key, performance.now())
  }

  retried(): void {
    this.#families.retries.add(this.labels)
  }

  begun(key: unknown): void {
    const nowMs = performance.now()
    this.#families.depth.add(this.labels, -1)
    this.#families.waited.observe(this.labels, (nowMs - this.#addedMs.get(key)!) / 1000)
    this.#addedMs.delete(key)
    this.#begunMs.set(key, nowMs)
  }

  done(key: unknown): void {
    const workedMs = performance.now() - this.#begunMs.get(key)!
    this.#families.worked.observe(this.labels, workedMs / 1000)
    this.#begunMs.delete(key)
  }

  /** Seconds for which each key that is being worked on has been. */
  unfinished(): readonly number[] {
    const nowMs = performance.now()
    return [...this.#begunMs.values()].map((begunMs) => (nowMs - begunMs) / 1000)
  }
}

/** Of the queues of one process. */
export class QueueMetrics {
  readonly #families = makeFamilies()
  readonly #queues: QueueFigures[] = []

  /** Queues of one name are counted together. */
  of(name: string): QueueFigures {
    const figures = new QueueFigures(name, this.#families)
    this.#queues.push(figures)
    return figures
  }

  get families(): readonly MetricFamily[] {
    return [
      ...Object.values(this.#families),
      {
        name: 'workqueue_unfinished_work_seconds',
        help: "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
        type: 'gauge',
        values: () => this.#unfinished((all) => all.reduce((sum, one) => sum + one, 0)),
      },
      {
        name: 'workqueue_longest_running_processor_seconds',
        help: '[BETA] How many seconds has the longest running processor for workqueue been running.',
        type: 'gauge',
        values: () => this.#unfinished((all) => Math.max(0, ...all)),
      },
    ]
  }

  #unfinished(value: (seconds: readonly number[]) => number): readonly MetricValue[] {
    const names = new Set(this.#queues.map(({ labels }) => labels.name!))
    return [...names].map((name) => {
      const named = this.#queues.filter(({ labels }) => labels.name === name)
      return { labels: { name }, value: value(named.flatMap((queue) => queue.unfinished())) }
    })
  }
}
