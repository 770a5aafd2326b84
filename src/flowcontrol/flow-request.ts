/** A request as levels of priority see it, and lists of such: entries let go of each other when they leave, and none is made for them. */
import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'
import type { FlowFigures } from './flow-figures.js'

/** What a request is thought to take. */
export interface WorkEstimate {
  /** While it is answered. */
  readonly initialSeats: number
  /** Behind its answer, while watchers are told of what it has written. */
  readonly finalSeats: number
  /** For how long. */
  readonly lingerMs: number
}

/** Requests of some flows that wait for each other. */
export interface FairQueue {
  readonly index: number
  readonly waiting: RequestList
  /** Seats of those that wait, and their work. */
  seatsWaiting: number
  workWaiting: number
  executing: number
  seatsInUse: number
  /** Reading of the progress meter at which the next request leaves in the virtual world. */
  nextDispatchR: number
  isActive: boolean
}

/** Seconds that a request is taken to need until it is known; upstream's estimatedServiceDuration. */
export const serviceSeconds = 0.003

export class FlowRequest {
  readonly info: RequestInfo
  readonly user: UserInfo
  readonly figures: FlowFigures
  readonly distinguisher: string
  readonly initialSeats: number
  finalSeats: number
  lingerMs: number
  /** Milliseconds, as `performance.now()` counts them. */
  arrivedAt = 0
  /** The same; 0 while it waits. */
  startedAt = 0
  arrivalR = 0
  state: 'new' | 'waiting' | 'executing' | 'over' = 'new'
  /** Undefined for one that no queue was for. */
  queue: FairQueue | undefined
  /** Called when one that waits is let in. */
  letIn: (() => void) | undefined
  before: FlowRequest | undefined
  after: FlowRequest | undefined

  constructor(
    about: { readonly info: RequestInfo; readonly user: UserInfo },
    distinguisher: string,
    figures: FlowFigures,
    { initialSeats, finalSeats, lingerMs }: WorkEstimate,
  ) {
    this.info = about.info
    this.user = about.user
    this.distinguisher = distinguisher
    this.figures = figures
    this.initialSeats = initialSeats
    this.finalSeats = finalSeats
    this.lingerMs = lingerMs
  }

  get seats(): number {
    return Math.max(this.initialSeats, this.finalSeats)
  }

  /** Seat-seconds behind its answer. */
  get finalWork(): number {
    return (this.finalSeats * this.lingerMs) / 1000
  }

  get work(): number {
    return this.initialSeats * serviceSeconds + this.finalWork
  }
}

/** In order of arrival. A request is in one at a time. */
export class RequestList {
  #first: FlowRequest | undefined
  #last: FlowRequest | undefined
  #length = 0

  get first(): FlowRequest | undefined {
    return this.#first
  }
  get length(): number {
    return this.#length
  }

  add(request: FlowRequest): void {
    request.before = this.#last
    if (this.#last === undefined) this.#first = request
    else this.#last.after = request
    this.#last = request
    this.#length++
  }

  remove(request: FlowRequest): void {
    const { before, after } = request
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    request.before = undefined
    request.after = undefined
    this.#length--
  }

  *[Symbol.iterator](): Generator<FlowRequest, void> {
    for (let request = this.#first; request !== undefined; request = request.after) yield request
  }
}
