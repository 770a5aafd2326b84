/** Usage of a level over time, for metrics and for adjusting its limit. */
import { RatioHistogram, TimeByCount } from './ratio-histogram.js'
import { SeatDemand } from './seat-demand.js'

const requestBounds = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1]
const seatBounds = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]
const demandBounds = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6]

/** Requests and seats. */
interface Occupancy {
  readonly executing: number
  readonly waiting: number
  readonly seatsInUse: number
  readonly seatsWaiting: number
}

export class LevelUse {
  readonly demand = new SeatDemand()
  readonly demandRatio = new RatioHistogram(demandBounds)
  readonly seatRatio = new RatioHistogram(seatBounds)
  readonly executingRatio = new RatioHistogram(requestBounds)
  readonly waitingRatio = new RatioHistogram(requestBounds)
  /** Times in which nobody waited and each request had one seat, which is nearly always. */
  readonly #plainTimes = new TimeByCount()
  #since: number
  #executing = 0
  #waiting = 0
  #seatsInUse = 0
  #seatsWaiting = 0
  #highest = 0

  constructor(now: number) {
    this.#since = now
  }

  /** The usage from now on. */
  note({ executing, waiting, seatsInUse, seatsWaiting }: Occupancy, now: number): void {
    this.#pass(now)
    this.#executing = executing
    this.#waiting = waiting
    this.#seatsInUse = seatsInUse
    this.#seatsWaiting = seatsWaiting
    const demand = seatsInUse + seatsWaiting
    if (demand > this.#highest) this.#highest = demand
  }

  /** Sets the denominators from now on. */
  setWholes(seats: number, queueLength: number, now: number): void {
    this.account(now)
    this.demandRatio.denominator = seats
    this.seatRatio.denominator = seats
    this.executingRatio.denominator = seats
    this.waitingRatio.denominator = queueLength
  }

  /** Ends a period. */
  sumUp(now: number): void {
    this.account(now)
    this.demand.sumUp(this.#highest)
    this.#highest = this.#seatsInUse + this.#seatsWaiting
  }

  /** Brings the histograms up to date, before they are read. */
  account(now: number): void {
    this.#pass(now)
    this.#plainTimes.take((count, ms) => {
      this.executingRatio.add(count, ms)
      this.seatRatio.add(count, ms)
      this.demandRatio.add(count, ms)
      this.waitingRatio.add(0, ms)
      this.demand.add(count, ms)
    })
  }

  #pass(now: number): void {
    const ms = now - this.#since
    this.#since = now
    if (this.#waiting === 0 && this.#executing === this.#seatsInUse) {
      this.#plainTimes.add(this.#executing, ms)
      return
    }
    const demand = this.#seatsInUse + this.#seatsWaiting
    this.executingRatio.add(this.#executing, ms)
    this.seatRatio.add(this.#seatsInUse, ms)
    this.demandRatio.add(demand, ms)
    this.waitingRatio.add(this.#waiting, ms)
    this.demand.add(demand, ms)
  }
}
