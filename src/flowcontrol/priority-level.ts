/** A priority level: its share of the seats, what it lends and borrows, and its requests. */
import { LevelUse } from './level-use.js'
import { QueueSet, type QueueSetDeps, type QueueSetting } from './queue-set.js'

/** What a PriorityLevelConfiguration says. */
export interface LevelSpec extends QueueSetting {
  readonly name: string
  /** Empty for one that is not stored. */
  readonly uid: string
  readonly shares: number
  readonly lendablePercent: number
  /** Missing: no limit. */
  readonly borrowingLimitPercent?: number
}

/** The part of its seats that one request may take. */
const widestPart = 0.15

const percentOf = (seats: number, percent: number): number => Math.round((seats * percent) / 100)

export class PriorityLevel {
  spec: LevelSpec
  /** Its object is deleted, but it still has requests. */
  isQuiescing = false
  nominalSeats = 0
  lowerSeats = 0
  upperSeats = 0
  /** What it may use now. */
  seats = 0
  /** Its target at the last adjustment. */
  targetSeats = 0
  /** Most seats that one request is estimated at; undefined: only the general limit applies. */
  widestSeats: number | undefined
  readonly queues: QueueSet
  readonly use: LevelUse
  readonly #idle: () => void

  /** `idle` is called when the last request of one that quiesces has gone. */
  constructor(spec: LevelSpec, deps: Omit<QueueSetDeps, 'changed'>, idle: () => void) {
    this.spec = spec
    this.#idle = idle
    this.use = new LevelUse(deps.now())
    this.queues = new QueueSet({ ...deps, changed: this.#changed })
  }

  get name(): string {
    return this.spec.name
  }

  /** Computes its part of the server's seats. Rounded up, so that all parts together may be a few more than there are. */
  divide(serverSeats: number, shareSum: number): void {
    const { shares, lendablePercent, borrowingLimitPercent, queuing } = this.spec
    const nominal = Math.ceil((serverSeats * shares) / shareSum)
    this.nominalSeats = nominal
    this.lowerSeats = nominal - percentOf(nominal, lendablePercent)
    this.upperSeats =
      nominal +
      (borrowingLimitPercent === undefined
        ? serverSeats
        : percentOf(nominal, borrowingLimitPercent))
    this.widestSeats =
      queuing &&
      Math.max(1, Math.min(Math.ceil(nominal * widestPart), Math.trunc(nominal / queuing.handSize)))
  }

  /** Seats that it does not lend: those that it has needed of its own. */
  get seatsKept(): number {
    const { highWatermark } = this.use.demand
    const own = this.spec.isExempt ? highWatermark : Math.min(this.nominalSeats, highWatermark)
    return Math.max(this.lowerSeats, own)
  }

  /** `wholeSeats`: the denominator of its usage if it has no seats. */
  adjust(seats: number, wholeSeats: number, now: number): void {
    this.seats = seats
    const whole = seats > 0 ? seats : wholeSeats
    const { queues = 1, queueLengthLimit = 1 } = this.spec.queuing ?? {}
    this.use.setWholes(whole, queues * queueLengthLimit, now)
    this.queues.configure(this.spec, seats)
  }

  readonly #changed = (set: QueueSet, now: number): void => {
    this.use.note(set, now)
    if (this.isQuiescing && set.isIdle) this.#idle()
  }
}
