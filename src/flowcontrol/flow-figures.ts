/** What is counted of the requests that one flow schema sends to one level, in plain numbers. */
import { Histogram } from '#metrics/histogram.js'

/** Seconds. */
const durationBounds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]

export type Refusal = 'concurrency-limit' | 'queue-full' | 'time-out'

export class FlowFigures {
  readonly level: string
  readonly schema: string
  executing = 0
  executingSeats = 0
  waiting = 0
  waitingSeats = 0
  dispatched = 0
  unaccommodated = 0
  readonly refused: Record<Refusal, number> = {
    'concurrency-limit': 0,
    'queue-full': 0,
    'time-out': 0,
  }
  /** Queue length when a request joins, itself included. */
  readonly queueLengths = new Histogram([0, 10, 25, 50, 100, 250, 500, 1_000])
  readonly seats = new Histogram([1, 2, 4, 8, 16, 32, 64, 100])
  readonly watchers = new Histogram([0, 1, 10, 100, 1_000, 10_000])
  /** Waiting times in seconds, of requests that were executed (`true`) and of others. */
  readonly waits = { true: new Histogram(durationBounds), false: new Histogram(durationBounds) }
  readonly executions = {
    regular: new Histogram(durationBounds),
    watch: new Histogram(durationBounds),
  }

  constructor(level: string, schema: string) {
    this.level = level
    this.schema = schema
  }
}
