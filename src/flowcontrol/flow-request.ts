/** A request as levels of priority see it. */

import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'
import type { Linked, LinkedList } from '#collections/linked-list.js'
import type { FlowFigures } from './flow-figures.js'
import type { InFlightGauges } from './in-flight.js'

/** The estimated seats of a request. */
export interface WorkEstimate {
  /** While it is answered. */
  readonly initialSeats: number
  /** After its answer, while watchers are notified of the write. */
  readonly finalSeats: number
  /** How long the final seats are held. */
  readonly lingerMs: number
}

/** A queue, which several flows may share. */
export interface FairQueue {
  readonly index: number
  readonly waiting: LinkedList<FlowRequest>
  /** Seats and work of its waiting requests. */
  seatsWaiting: number
  workWaiting: number
  executing: number
  seatsInUse: number
  /** Virtual time (R) at which its next request starts. */
  nextDispatchR: number
  isActive: boolean
}

/** Assumed duration of a request in seconds, until it has ended; upstream's estimatedServiceDuration. */
export const serviceSeconds = 0.003

/** The set of queues that a request has come to. */
interface Seats {
  cancel(request: FlowRequest): void
  finish(request: FlowRequest, endedAt: number): void
}

/** The level and flow that it belongs to. */
interface Flow {
  readonly figures: FlowFigures
  readonly level: { readonly queues: Seats }
  distinguisherOf(user: UserInfo, info: RequestInfo): string
}

export class FlowRequest implements Linked<FlowRequest> {
  readonly about: { readonly info: RequestInfo; readonly user: UserInfo }
  work: WorkEstimate
  readonly figures: FlowFigures
  readonly inFlight: InFlightGauges
  readonly #flow: Flow
  state: 'new' | 'waiting' | 'executing' | 'over' = 'new'
  /** Milliseconds, as `performance.now()` counts them. */
  arrivedAt = 0
  waitedMs = 0
  /** Undefined for a request without a queue. */
  queue: FairQueue | undefined
  /** Virtual time (R) at its arrival, if it had to wait. */
  arrivalR: number | undefined
  /** Called when a waiting request is executed or cancelled. */
  decided: (() => void) | undefined
  before: FlowRequest | undefined
  after: FlowRequest | undefined

  constructor(
    about: { readonly info: RequestInfo; readonly user: UserInfo },
    flow: Flow,
    work: WorkEstimate,
    inFlight: InFlightGauges,
  ) {
    this.about = about
    this.work = work
    this.figures = flow.figures
    this.inFlight = inFlight
    this.#flow = flow
  }

  get distinguisher(): string {
    const { user, info } = this.about
    return this.#flow.distinguisherOf(user, info)
  }

  get seats(): number {
    const { initialSeats, finalSeats } = this.work
    return Math.max(finalSeats, initialSeats)
  }

  get startedAt(): number {
    return this.arrivedAt + this.waitedMs
  }

  /** Gives up its seats, or its place in a queue. */
  leave(now: number): void {
    if (this.state === 'executing') this.#flow.level.queues.finish(this, now)
    else if (this.state === 'waiting') this.#flow.level.queues.cancel(this)
  }
}

/** Seat-seconds. */
export const finalWorkOf = ({ finalSeats, lingerMs }: WorkEstimate): number =>
  (finalSeats * lingerMs) / 1000

export const workOf = (work: WorkEstimate): number =>
  work.initialSeats * serviceSeconds + finalWorkOf(work)
