/** What the filters learned of a request: `request.kube` for every later filter and handler. */
import type { Http2Stream } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'
import type { AuditEvent } from '#audit/audit-event.js'
import { limits } from '#limits'

/** How a fault rule ends a watch: with a 410, or by `cut`. */
interface WatchEnd {
  readonly afterEvents: number
  readonly cut?: () => void
}

interface Seat {
  /** May be called more than once. */
  leave(now: number): void
}

export class KubeRequest {
  readonly info: RequestInfo
  /** Milliseconds since the epoch at arrival. */
  readonly now: number
  /** Of performance.now: durations must not depend on the wall clock. */
  readonly startedAt = performance.now()
  /** Of performance.now: when the request went on after a filter had waited; undefined if none had to. */
  resumedAt: number | undefined
  /** Set by authentication, replaced by impersonation. */
  user: UserInfo
  /** The client's own timeout, if shorter than the server's. */
  timeoutMs: number | undefined
  /** Undefined when the request is not audited. */
  audit: AuditEvent | undefined
  /** What authentication has to tell the audit log, which begins after it. Undefined if nothing. */
  authenticationNotes: [key: string, value: string][] | undefined
  /** Its seat in its priority level, until it is over or a watch has sent its initial events. */
  seat: Seat | undefined
  /** Set by a fault rule. */
  watchEnd: WatchEnd | undefined
  /** A fault rule closed the connection: the client has seen no code, so none is counted. */
  isCut = false
  readonly #reply: FastifyReply['raw']
  #isOver = false
  /** When the request was over, of performance.now. */
  #endedAt = this.startedAt
  readonly #whenOver: ((endedAt: number) => void)[] = []
  #abort: AbortController | undefined
  #aborted: Error | undefined

  constructor(info: RequestInfo, now: number, user: UserInfo, reply: FastifyReply['raw']) {
    this.info = info
    this.now = now
    this.user = user
    this.#reply = reply
    // A stream of HTTP/2 may have been reset before the request is handled.
    if ((reply as { stream?: Http2Stream }).stream?.destroyed) this.#isOver = true
    else
      reply.once('close', () => {
        this.#isOver = true
        this.#endedAt = performance.now()
        this.seat?.leave(this.#endedAt)
        for (const listener of this.#whenOver) listener(this.#endedAt)
      })
  }

  /** Time left for the answer to a write. A collection delete may take long: upstream gives it the time of a read. */
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
   * Calls back when the answer is sent or the client gone, at once if that has happened (a late listener of 'close' would
   * wait for ever). `endedAt` is of performance.now, like `startedAt`.
   */
  whenOver(listener: (endedAt: number) => void): void {
    if (this.#isOver) listener(this.#endedAt)
    else this.#whenOver.push(listener)
  }

  /**
   * Aborted when the client is gone, the deadline passed or the server shuts down. Made at first use: most requests never
   * need it. 'close' also comes after a sent answer; then nobody listens, and an abort would only cost an Error.
   * `writableEnded` tells the two apart, not `writableFinished`: a stream of HTTP/2 is also finished when its client
   * resets it.
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

  /** Ends the request from the server's side. */
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

/** One link of the chain. Throws an ApiError to refuse. Returns a promise only if it has to wait. */
export type Filter = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
