/** A level of priority: its share of all seats, what it lends and borrows, and the requests that take them. */
import { RatioHistogram } from './histogram.js'
import { QueueSet, type QueueSetDeps, type QueueSetting } from './queue-set.js'
import { SeatDemand } from './seat-demand.js'

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

const requestBounds = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1]
const seatBounds = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]
const demandBounds = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6]

/** Of its own seats, one request may take that much. */
const widestPart = 0.15

const percentOf = (seats: number, percent: number): number => Math.round((seats * percent) / 100)

export class PriorityLevel {
  spec: LevelSpec
  /** Its object is gone, but not yet its requests. */
  isQuiescing = false
  nominalSeats = 0
  lowerSeats = 0
  upperSeats = 0
  /** What it may use now. */
  seats = 0
  /** When that was last adjusted. */
  targetSeats = 0
  /** Upper bound of the seats that one request is thought to take; undefined where only the estimate's own counts. */
  widestSeats: number | undefined
  readonly queues: QueueSet
  readonly demand: SeatDemand
  readonly demandRatio: RatioHistogram
  readonly seatRatio: RatioHistogram
  readonly executingRatio: RatioHistogram
  readonly waitingRatio: RatioHistogram
  readonly #idle: () => void

  /** `idle` is called when the last request of one that quiesces has gone. */
  constructor(spec: LevelSpec, deps: Omit<QueueSetDeps, 'changed'>, idle: () => void) {
    const now = deps.now()
    this.spec = spec
    this.#idle = idle
    this.demand = new SeatDemand(now)
    this.demandRatio = new RatioHistogram(demandBounds, now)
    this.seatRatio = new RatioHistogram(seatBounds, now)
    this.executingRatio = new RatioHistogram(requestBounds, now)
    this.waitingRatio = new RatioHistogram(requestBounds, now)
    this.queues = new QueueSet({ ...deps, changed: this.#changed })
  }

  get name(): string {
    return this.spec.name
  }

  /** Its part of the server's seats. What is rounded up may sum to a few more than there are. */
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

  /** The least that it keeps: what it has needed of its own. */
  get seatsKept(): number {
    const { highWatermark } = this.demand
    const own = this.spec.isExempt ? highWatermark : Math.min(this.nominalSeats, highWatermark)
    return Math.max(this.lowerSeats, own)
  }

  /** `wholeSeats`: what is a whole where it has none. */
  adjust(seats: number, wholeSeats: number, now: number): void {
    this.seats = seats
    const whole = seats > 0 ? seats : wholeSeats
    const { queues = 1, queueLengthLimit = 1 } = this.spec.queuing ?? {}
    this.demandRatio.setDenominator(whole, now)
    this.seatRatio.setDenominator(whole, now)
    this.executingRatio.setDenominator(whole, now)
    this.waitingRatio.setDenominator(queues * queueLengthLimit, now)
    this.queues.configure(this.spec, seats)
  }

  readonly #changed = (set: QueueSet, now: number): void => {
    const { executing, waiting, seatsInUse, seatsWaiting } = set
    const demand = seatsInUse + seatsWaiting
    this.executingRatio.set(executing, now)
    this.waitingRatio.set(waiting, now)
    this.seatRatio.set(seatsInUse, now)
    this.demandRatio.set(demand, now)
    this.demand.set(demand, now)
    if (this.isQuiescing && set.isIdle) this.#idle()
  }
}
