/** What the filters learned of a request: `request.kube` for every later filter and handler. */
import type { Http2Stream } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'
import type { AuditEvent } from '#audit/audit-event.js'
import { limits } from '#limits'

interface Seat {
  /** A second time, too. */
  leave(now: number): void
}

export class KubeRequest {
  readonly info: RequestInfo
  /** Milliseconds since the epoch at arrival. */
  readonly now: number
  /** For how long it took, which the clock of the wall cannot tell. */
  readonly startedAt = performance.now()
  /** The same, of when it went on after a filter had to wait: one that did not is a few microseconds older than it began. */
  resumedAt: number | undefined
  /** Set by authentication, replaced by impersonation. */
  user: UserInfo
  /** What the client allows for its answer, where that is less than the server does. */
  timeoutMs: number | undefined
  /** What the audit log tells of it; undefined when that is nothing. */
  audit: AuditEvent | undefined
  /** What it takes of its level of priority: until it is over, or a watch has sent what it begins with. */
  seat: Seat | undefined
  readonly #reply: FastifyReply['raw']
  #isOver = false
  /** The same, of its end. */
  #endedAt = this.startedAt
  readonly #whenOver: ((endedAt: number) => void)[] = []
  #abort: AbortController | undefined
  #aborted: Error | undefined

  constructor(info: RequestInfo, now: number, user: UserInfo, reply: FastifyReply['raw']) {
    this.info = info
    this.now = now
    this.user = user
    this.#reply = reply
    // A stream of HTTP/2 may have been reset before anybody is told that it began.
    if ((reply as { stream?: Http2Stream }).stream?.destroyed) this.#isOver = true
    else
      reply.once('close', () => {
        this.#isOver = true
        this.#endedAt = performance.now()
        this.seat?.leave(this.#endedAt)
        for (const listener of this.#whenOver) listener(this.#endedAt)
      })
  }

  /** Until the answer to a write comes too late. A collection delete may be lengthy: upstream gives it the time of a read. */
  timeLeftMs(): number {
    const { verb } = this.info
    const boundMs = verb === 'deletecollection' ? limits.requestTimeoutMs : limits.writeTimeoutMs
    return this.startedAt + Math.min(this.timeoutMs ?? boundMs, boundMs) - performance.now()
  }

  /** Whether the answer is sent or the client gone. */
  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Calls back when the answer is sent or the client gone, at once if that was before: who is told after a wait, by the
   * answer's 'close', may wait for ever. They are told when that was, as `startedAt` tells it.
   */
  whenOver(listener: (endedAt: number) => void): void {
    if (this.#isOver) listener(this.#endedAt)
    else this.#whenOver.push(listener)
  }

  /**
   * Aborted when the client is gone, the deadline passed or the server shuts down. Made at first use: most requests
   * never ask. The answer's 'close' comes when it is sent, too: then nobody listens, and an abort would cost its error.
   * That we have ended it counts, not that it is finished: a stream of HTTP/2 is finished as well when its client resets it.
   */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      if (this.#aborted !== undefined) abort.abort(this.#aborted)
      this.whenOver(() => {
        if (!this.#reply.writableEnded) abort.abort()
      })
    }
    return this.#abort.signal
  }

  /** Ends the request from our side. */
  abort(reason: Error): void {
    this.#aborted = reason
    this.#abort?.abort(reason)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    kube: KubeRequest
  }
}

/** One link of the chain. Throws an ApiError to refuse; a promise only where it really has to wait. */
export type Filter = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
