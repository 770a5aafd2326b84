/**
 * API Priority and Fairness: which levels there are, how the server's seats are divided among them, and which flow a
 * request belongs to. Upstream: apiserver, util/flowcontrol/apf_controller.go.
 */
import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'
import { allocateSeats, type Claim } from './concurrency-allocation.js'
import { FlowFigures } from './flow-figures.js'
import { FlowSchema, type SchemaSpec } from './flow-schema.js'
import type { InFlight } from './in-flight.js'
import { type LevelSpec, PriorityLevel } from './priority-level.js'
import type { QueueSetDeps } from './queue-set.js'

interface FlowControlDeps extends Omit<QueueSetDeps, 'changed'> {
  /** Seats that all levels that are not exempt share. */
  readonly serverSeats: number
  readonly inFlight: InFlight
}

const sumOf = (levels: readonly PriorityLevel[], of: (level: PriorityLevel) => number): number =>
  levels.reduce((sum, level) => sum + of(level), 0)

export class FlowControl {
  fairFraction = 0
  readonly #deps: FlowControlDeps
  readonly #levels = new Map<string, PriorityLevel>()
  /** By level and schema, so that counting goes on when either is changed. */
  readonly #figures = new Map<string, FlowFigures>()
  #specs: readonly LevelSpec[] = []
  /** In order of precedence; the last one matches everything. */
  #schemas: readonly FlowSchema[] = []

  constructor(deps: FlowControlDeps) {
    this.#deps = deps
  }

  now(): number {
    return this.#deps.now()
  }
  get inFlight(): InFlight {
    return this.#deps.inFlight
  }
  /** By name. */
  get levels(): PriorityLevel[] {
    return [...this.#levels.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  get figures(): Iterable<FlowFigures> {
    return this.#figures.values()
  }

  /**
   * Applies a configuration. It must include the mandatory levels and schemas, each schema must name one of the levels,
   * and schemas must be in order of precedence.
   */
  configure(levels: readonly LevelSpec[], schemas: readonly SchemaSpec[]): void {
    this.#divide(levels)
    this.#schemas = schemas.map((spec) => {
      const level = this.#levels.get(spec.level)!
      return new FlowSchema(spec, level, this.#figuresOf(spec.level, spec.name))
    })
    const told = new Set(this.#schemas.map(({ figures }) => figures))
    // Counts of removed schemas stay, as upstream's; those that counted nothing go.
    for (const [key, figures] of this.#figures)
      if (figures.seats.count === 0 && !told.has(figures)) this.#figures.delete(key)
  }

  classify(user: UserInfo, info: RequestInfo): FlowSchema {
    const schemas = this.#schemas
    for (const schema of schemas) if (schema.fits(user, info)) return schema
    return schemas[schemas.length - 1]!
  }

  /** Lends seats that levels do not need to levels that could use them. */
  adjust(): void {
    const { serverSeats } = this.#deps
    const now = this.now()
    const all = this.levels
    for (const { use } of all) use.sumUp(now)
    const limited = all.filter(({ spec }) => !spec.isExempt)
    const claims = limited.map(claimOf)
    const nominal = sumOf(all, ({ nominalSeats }) => nominalSeats)
    const exempt = sumOf(all, ({ spec, seatsKept }) => (spec.isExempt ? seatsKept : 0))
    const seats = this.#seatsOf(limited, claims, { nominal, left: nominal - exempt })
    const whole = Math.max(1, Math.round(serverSeats / 10))
    for (const level of all) {
      const at = limited.indexOf(level)
      // For exempt levels upstream reports another level's number.
      level.targetSeats = claims[Math.max(at, 0)]?.target ?? 0
      level.adjust(at < 0 ? level.seatsKept : seats[at]!, whole, now)
    }
  }

  /** If exempt levels leave too few seats, all others are reduced towards their minimum. */
  #seatsOf(
    limited: readonly PriorityLevel[],
    claims: readonly Claim[],
    { nominal, left }: { nominal: number; left: number },
  ): number[] {
    const lowest = sumOf(limited, ({ lowerSeats }) => lowerSeats)
    const kept = sumOf(limited, ({ seatsKept }) => seatsKept)
    if (left <= kept) {
      this.fairFraction = 0
      const part = left <= lowest ? 0 : (left - lowest) / (kept - lowest)
      return limited.map(
        ({ lowerSeats, seatsKept }) => lowerSeats + Math.round((seatsKept - lowerSeats) * part),
      )
    }
    const allocation = allocateSeats(nominal, claims)
    this.fairFraction = allocation?.fairFraction ?? 0
    return allocation?.seats.map(Math.round) ?? limited.map(({ seats }) => seats)
  }

  #divide(specs: readonly LevelSpec[]): void {
    this.#specs = specs
    const wanted = new Map(specs.map((spec) => [spec.name, spec]))
    for (const [name, level] of this.#levels) {
      // A removed level that is busy keeps its share until its requests are done.
      level.isQuiescing = !wanted.has(name)
      if (level.isQuiescing && level.queues.isIdle) this.#levels.delete(name)
    }
    for (const [name, spec] of wanted) {
      const level = this.#levels.get(name)
      if (level === undefined) this.#levels.set(name, this.#makeLevel(spec))
      else level.spec = spec
    }
    const { serverSeats, inFlight } = this.#deps
    const now = this.now()
    const all = this.levels
    const shareSum = sumOf(all, ({ spec }) => spec.shares)
    for (const level of all) level.divide(serverSeats, shareSum)
    this.adjust()
    const executing = sumOf(all, ({ nominalSeats }) => nominalSeats)
    const waiting = sumOf(all, ({ spec: { queuing } }) =>
      queuing === undefined ? 0 : queuing.queues * queuing.queueLengthLimit,
    )
    for (const gauges of [inFlight.readOnly, inFlight.mutating]) {
      gauges.executing.setWhole(executing, now)
      gauges.waiting.setWhole(waiting, now)
    }
  }

  #makeLevel(spec: LevelSpec): PriorityLevel {
    return new PriorityLevel(spec, this.#deps, () => this.#divide(this.#specs))
  }

  #figuresOf(level: string, schema: string): FlowFigures {
    const key = `${level} ${schema}`
    let figures = this.#figures.get(key)
    if (figures === undefined) {
      figures = new FlowFigures(level, schema)
      this.#figures.set(key, figures)
    }
    return figures
  }
}

const claimOf = ({ seatsKept, upperSeats, use }: PriorityLevel): Claim => ({
  lowerBound: seatsKept,
  upperBound: upperSeats,
  target: Math.max(seatsKept, use.demand.smoothed),
})
