/**
 * Fair queuing of requests among a bounded number of seats (apiserver, util/flowcontrol/fairqueuing/queueset, whose
 * doc.go tells why it is fair). R is virtual time: the seat-seconds that each busy queue has been entitled to so far.
 * Each queue has its own reading of what it has used. The queue whose next request would end first, in virtual time, is
 * served next.
 */
import { LinkedList } from '#collections/linked-list.js'
import type { Refusal } from './flow-figures.js'
import {
  type FairQueue,
  type FlowRequest,
  finalWorkOf,
  serviceSeconds,
  workOf,
} from './flow-request.js'

export interface QueueSetting {
  /** Missing: requests do not wait; those that do not fit are refused. */
  readonly queuing?: {
    readonly queues: number
    readonly handSize: number
    readonly queueLengthLimit: number
  }
  readonly isExempt: boolean
}

/** Readings when a request last left its queue; overwritten each time. */
interface DispatchReadings {
  isKnown: boolean
  r: number
  start: number
  startMin: number
  startMax: number
  discountedMin: number
  discountedMax: number
}

export interface QueueSetDeps {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  readonly later: (callback: () => void, ms: number) => void
  /** Called when seats or requests have changed. */
  readonly changed: (set: QueueSet, now: number) => void
}

export class QueueSet {
  readonly executingRequests = new LinkedList<FlowRequest>()
  waiting = 0
  seatsInUse = 0
  seatsWaiting = 0
  dispatched = 0
  refused = 0
  cancelled = 0
  currentR = 0
  readonly lastDispatch: DispatchReadings = {
    isKnown: false,
    r: 0,
    start: 0,
    startMin: 0,
    startMax: 0,
    discountedMin: 0,
    discountedMax: 0,
  }
  readonly #deps: QueueSetDeps
  /** Made when a request first comes to one: ten million may be configured. */
  readonly #queues = new Map<number, FairQueue>()
  readonly #withWaiting = new Set<FairQueue>()
  #setting: QueueSetting = { isExempt: false }
  #limit = 0
  #activeQueues = 0
  #lastSync: number
  /** Index of the queue that was served last; among equals the next one is served. */
  #robinIndex = 0
  #dealt = 0

  constructor(deps: QueueSetDeps) {
    this.#deps = deps
    this.#lastSync = deps.now()
  }

  get executing(): number {
    return this.executingRequests.length
  }
  get queuesWaiting(): number {
    return this.#withWaiting.size
  }
  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0
  }

  configure(setting: QueueSetting, limit: number): void {
    const now = this.#sync()
    this.#setting = setting
    this.#limit = limit
    this.#dispatchAll(now)
  }

  /** The queue with this number, which is made if need be. */
  queue(index: number): FairQueue {
    let queue = this.#queues.get(index)
    if (queue === undefined) {
      queue = {
        index,
        waiting: new LinkedList(),
        seatsWaiting: 0,
        workWaiting: 0,
        executing: 0,
        seatsInUse: 0,
        nextDispatchR: 0,
        isActive: false,
      }
      this.#queues.set(index, queue)
    }
    return queue
  }

  /** The queue with this number, if a request has ever come to it. */
  knownQueue(index: number): FairQueue | undefined {
    return this.#queues.get(index)
  }

  get knownQueues(): Iterable<FairQueue> {
    return this.#queues.values()
  }

  /** With their places in their queues. */
  *waitingRequests(): Generator<{ request: FlowRequest; place: number }, void> {
    const queues = [...this.#withWaiting].sort((a, b) => a.index - b.index)
    for (const queue of queues) {
      let place = 0
      for (const request of queue.waiting) yield { request, place: place++ }
    }
  }

  /**
   * Executes, queues or refuses a request; its state tells which. `hand`: the queues that it may wait in, empty if
   * requests do not wait.
   */
  start(request: FlowRequest, hand: readonly FairQueue[], arrivedAt: number): void {
    const now = this.#sync(arrivedAt)
    request.arrivedAt = now
    if (hand.length === 0) {
      if (this.#hasRoomFor(request.seats)) this.#execute(request, now)
      else this.#refuseAtOnce(request, 'concurrency-limit')
      return
    }
    const queue = this.#choose(hand)
    const { queueLengthLimit } = this.#setting.queuing!
    if (this.seatsInUse >= this.#limit && queue.waiting.length >= queueLengthLimit) {
      this.#refuseAtOnce(request, 'queue-full')
      return
    }
    request.queue = queue
    if (!queue.isActive) queue.nextDispatchR = this.currentR
    request.figures.queueLengths.observe(queue.waiting.length + 1)
    const isFirst = this.waiting === 0 && this.seatsInUse < this.#limit
    if (isFirst && this.#hasRoomFor(request.seats)) {
      if (queue.nextDispatchR < this.currentR) queue.nextDispatchR = this.currentR
      this.#noteDispatch(queue)
      this.#leave(queue, request, now)
      return
    }
    this.#enqueue(queue, request, now)
    this.#boundStart(queue)
    this.#dispatchAll(now)
    this.#deps.changed(this, now)
  }

  /** For a request that has waited too long, or whose client has left. */
  cancel(request: FlowRequest): void {
    const now = this.#sync()
    this.#dequeue(request, now)
    this.#boundStart(request.queue!)
    this.cancelled++
    this.#refuse(request, 'time-out')
    // Upstream counts their waiting times among those of executed requests.
    request.figures.waits.true.observe((now - request.arrivedAt) / 1000)
    this.#deps.changed(this, now)
    request.decided?.()
  }

  /** For an executed request. Its final seats may be held for a while longer. */
  finish(request: FlowRequest, endedAt: number): void {
    const now = this.#sync(endedAt)
    const { queue, figures, work, about } = request
    const took = (now - request.startedAt) / 1000
    request.state = 'over'
    this.executingRequests.remove(request)
    request.inFlight.executing.add(-1, now)
    figures.executing--
    figures.executions[about.info.verb === 'watch' ? 'watch' : 'regular'].observe(took)
    if (queue !== undefined) {
      queue.executing--
      // The queue was charged for the assumed duration; now the real one is known.
      queue.nextDispatchR -= work.initialSeats * (serviceSeconds - took)
      this.#boundStart(queue)
      this.#noteActivity(queue)
    }
    if (work.lingerMs <= 0) this.#release(request)
    else
      this.#deps.later(() => {
        const then = this.#sync()
        this.#release(request)
        this.#dispatchAll(then)
        this.#deps.changed(this, then)
      }, work.lingerMs)
    this.#dispatchAll(now)
    this.#deps.changed(this, now)
  }

  #release(request: FlowRequest): void {
    const { seats, queue } = request
    this.seatsInUse -= seats
    request.figures.executingSeats -= seats
    if (queue !== undefined) queue.seatsInUse -= seats
  }

  #refuseAtOnce(request: FlowRequest, why: Refusal): void {
    request.figures.waits.false.observe(0)
    this.#refuse(request, why)
  }

  #refuse(request: FlowRequest, why: Refusal): void {
    request.state = 'over'
    request.figures.refused[why]++
    this.refused++
  }

  /** The queue with the least waiting work. The search begins at another card each time, because hands overlap. */
  #choose(hand: readonly FairQueue[]): FairQueue {
    const offset = this.#dealt++ % hand.length
    let best = hand[offset]!
    if (this.waiting === 0) return best
    for (let i = 1; i < hand.length; i++) {
      const queue = hand[(offset + i) % hand.length]!
      if (queue.workWaiting < best.workWaiting) best = queue
    }
    return best
  }

  #hasRoomFor(seats: number): boolean {
    if (this.#setting.isExempt) return true
    // A request that is wider than the limit runs alone.
    if (seats > this.#limit) return this.executing === 0
    return this.seatsInUse + seats <= this.#limit
  }

  #enqueue(queue: FairQueue, request: FlowRequest, now: number): void {
    const { seats, figures } = request
    request.state = 'waiting'
    request.arrivalR = this.currentR
    request.inFlight.waiting.add(1, now)
    queue.waiting.add(request)
    queue.seatsWaiting += seats
    queue.workWaiting += workOf(request.work)
    this.#withWaiting.add(queue)
    this.waiting++
    this.seatsWaiting += seats
    figures.waiting++
    figures.waitingSeats += seats
    this.#noteActivity(queue)
  }

  #dequeue(request: FlowRequest, now: number): void {
    const { seats, figures } = request
    request.inFlight.waiting.add(-1, now)
    request.waitedMs = now - request.arrivedAt
    const queue = request.queue!
    queue.waiting.remove(request)
    queue.seatsWaiting -= seats
    queue.workWaiting = queue.waiting.length === 0 ? 0 : queue.workWaiting - workOf(request.work)
    if (queue.waiting.length === 0) this.#withWaiting.delete(queue)
    this.waiting--
    this.seatsWaiting -= seats
    figures.waiting--
    figures.waitingSeats -= seats
    this.#noteActivity(queue)
  }

  #dispatchAll(now: number): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limit) {
      const queue = this.#nextQueue()
      const request = queue.waiting.first!
      if (!this.#hasRoomFor(request.seats)) {
        request.figures.unaccommodated++
        return
      }
      this.#noteDispatch(queue)
      this.#dequeue(request, now)
      this.#leave(queue, request, now)
      request.decided?.()
    }
  }

  /**
   * The queue whose first request would end first in virtual time; among equals, the next after the one that was served
   * last.
   */
  #nextQueue(): FairQueue {
    let best: FairQueue | undefined
    let bestFinish = Number.POSITIVE_INFINITY
    for (const queue of this.#withWaiting) {
      const finish = queue.nextDispatchR + workOf(queue.waiting.first!.work)
      const isNext = best === undefined || this.#comesBefore(queue, best)
      if (finish < bestFinish || (finish === bestFinish && isNext)) {
        best = queue
        bestFinish = finish
      }
    }
    return best!
  }

  #comesBefore({ index: a }: FairQueue, { index: b }: FairQueue): boolean {
    const isAheadA = a > this.#robinIndex
    return isAheadA === b > this.#robinIndex ? a < b : isAheadA
  }

  #noteDispatch({ nextDispatchR, seatsInUse }: FairQueue): void {
    const last = this.lastDispatch
    const discounted = nextDispatchR - seatsInUse * serviceSeconds
    last.isKnown = true
    last.r = this.currentR
    last.start = nextDispatchR
    last.startMin = nextDispatchR
    last.startMax = nextDispatchR
    last.discountedMin = discounted
    last.discountedMax = discounted
    for (const { nextDispatchR: start, seatsInUse: seats } of this.#withWaiting) {
      const less = start - seats * serviceSeconds
      last.startMin = Math.min(last.startMin, start)
      last.startMax = Math.max(last.startMax, start)
      last.discountedMin = Math.min(last.discountedMin, less)
      last.discountedMax = Math.max(last.discountedMax, less)
    }
  }

  #leave(queue: FairQueue, request: FlowRequest, now: number): void {
    this.#robinIndex = queue.index
    // If its final seats exceed the limit it takes fewer for longer.
    const { work } = request
    if (work.finalSeats > this.#limit)
      request.work = {
        initialSeats: work.initialSeats,
        finalSeats: this.#limit,
        lingerMs: (finalWorkOf(work) * 1000) / this.#limit,
      }
    queue.executing++
    queue.seatsInUse += request.seats
    this.#execute(request, now)
    queue.nextDispatchR += workOf(work)
    this.#boundStart(queue)
    this.#noteActivity(queue)
  }

  #execute(request: FlowRequest, now: number): void {
    const { seats, figures } = request
    request.state = 'executing'
    request.inFlight.executing.add(1, now)
    if (!this.#setting.isExempt) figures.waits.true.observe(request.waitedMs / 1000)
    this.executingRequests.add(request)
    this.seatsInUse += seats
    this.dispatched++
    figures.dispatched++
    figures.executing++
    figures.executingSeats += seats
    this.#deps.changed(this, now)
  }

  /** A queue cannot save up unused time: no request starts, in virtual time, before it has arrived. */
  #boundStart(queue: FairQueue): void {
    const arrivalR = queue.waiting.first?.arrivalR
    if (arrivalR !== undefined && queue.nextDispatchR < arrivalR) queue.nextDispatchR = arrivalR
  }

  #noteActivity(queue: FairQueue): void {
    const isActive = queue.waiting.length > 0 || queue.executing > 0
    if (isActive === queue.isActive) return
    queue.isActive = isActive
    this.#activeQueues += isActive ? 1 : -1
  }

  /** Moves R on to now. Called before anything changes on which its speed depends. */
  #sync(at = this.#deps.now()): number {
    // `at` may lie before a change that has been accounted for already.
    const now = Math.max(at, this.#lastSync)
    if (this.#activeQueues > 0) {
      const seats = Math.min(this.seatsInUse + this.seatsWaiting, this.#limit)
      this.currentR += ((seats / this.#activeQueues) * (now - this.#lastSync)) / 1000
    }
    this.#lastSync = now
    return now
  }
}
