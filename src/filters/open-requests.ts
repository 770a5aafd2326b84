/** Keeps track of what is being answered, so that a drain can wait for short requests and end long ones. */
import type { Http2Stream } from 'node:http2'
import type { FastifyReply } from 'fastify'
import { timeout } from '#api/errors.js'
import { PlainTextError } from '#api/plain-text-error.js'
import type { RequestInfo } from '#api/request-info.js'
import { setTimer } from '#async/set-timer.js'
import { type Linked, LinkedList } from '#collections/linked-list.js'
import { limits } from '#limits'
import type { Filter, KubeRequest } from './kube-request.js'
import { isLongRunning } from './long-running.js'

/** Which deadline a request has; undefined: none. */
type Deadline = 'reading' | 'writing' | undefined

const readingVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])

const deadlineOf = (info: RequestInfo): Deadline => {
  if (isLongRunning(info)) return undefined
  // A collection delete may be lengthy: upstream gives it the time of a read.
  return readingVerbs.has(info.verb) || info.verb === 'deletecollection' ? 'reading' : 'writing'
}

/** Upstream's timeout filter writes a Status without kind and apiVersion, and leaves its media type to Go's guess (filters/timeout.go). */
export const lateError = (): PlainTextError => {
  const { metadata, status, message, reason, code } = timeout(
    'request did not complete within the allotted timeout',
  ).status
  const body = { metadata, status, message, reason, details: {}, code }
  return new PlainTextError(504, `${JSON.stringify(body)}\n`, {})
}

/**
 * Closes the connection, or resets the stream, a moment after the answer, since nobody reads the rest of the body. (A
 * stream of HTTP/2 would count as in flight until both sides have ended it.)
 */
const hangUp = ({ raw, request }: FastifyReply): void => {
  const { stream } = raw as { stream?: Http2Stream }
  if (stream !== undefined) stream.close()
  else if (!request.raw.complete) {
    const { socket } = request.raw
    setTimeout(() => socket.destroy(), limits.resetAvoidanceMs).unref()
  }
}

/**
 * An answer that has begun and is not out at its deadline ends there, as upstream's: the client reads too slowly, and would
 * hold its seat and its part of the answer for as long as it likes.
 */
const breakOff = ({ raw }: FastifyReply, late: Error): void => {
  const { stream } = raw as { stream?: Http2Stream }
  if (stream === undefined) raw.destroy()
  else stream.destroy(late)
}

interface Entry extends Linked<Entry> {
  readonly request: KubeRequest
  readonly reply: FastifyReply
  readonly deadline: Deadline
  /** The deadline has passed, and the client was told so or cut off. */
  isLate: boolean
}

const sendLate = (entry: Entry, late: Error): void => {
  const { request, reply } = entry
  if (entry.isLate) return
  request.abort(late)
  if (!reply.sent) {
    entry.isLate = true
    reply.send(late)
    hangUp(reply)
  } else if (reply.raw.headersSent) {
    entry.isLate = true
    breakOff(reply, late)
  }
}

const answerLate = (entry: Entry): void => sendLate(entry, lateError())

/** Upstream's handler answers a late write with an ordinary Status, before the filter would (handlers/finisher). */
const answerLateWrite = (entry: Entry): void => {
  const late = timeout(
    'request did not complete within requested timeout - context deadline exceeded',
  )
  sendLate(entry, late)
}

/** In order of arrival. */
export class OpenRequests {
  readonly #entries = new LinkedList<Entry>()
  #draining = false
  #stopping = false
  #refusing = false
  #emptied: (() => void) | undefined

  /** Whether the server is about to close, even if it still takes requests. */
  get stopping(): boolean {
    return this.#stopping
  }
  /** Whether new requests are told to try again later. */
  get refusing(): boolean {
    return this.#refusing
  }
  get count(): number {
    return this.#entries.length
  }

  readonly track: Filter = ({ kube }, reply) => {
    const deadline = deadlineOf(kube.info)
    const entry: Entry = {
      request: kube,
      reply,
      deadline,
      isLate: false,
      before: undefined,
      after: undefined,
    }
    this.#entries.add(entry)
    if (deadline === undefined) {
      if (this.#draining) kube.abort(new Error('the server is shutting down'))
    } else if (kube.timeoutMs !== undefined) this.#endSoon(entry, kube.timeoutMs)
    kube.whenOver(() => this.#remove(entry))
  }

  #endSoon(entry: Entry, timeoutMs: number): void {
    const timer = setTimer(() => answerLate(entry), timeoutMs)
    entry.request.whenOver(() => clearTimeout(timer))
  }

  #remove(entry: Entry): void {
    this.#entries.remove(entry)
    if (this.#entries.length === 0) this.#emptied?.()
  }

  /**
   * Answers requests that have run for longer than `timeoutMs` (writes: than upstream's bound for them) with a 504, and
   * aborts the work on them. Looking at the oldest once a second is cheaper than a timer for each request.
   */
  expire(timeoutMs: number): void {
    const now = performance.now()
    for (const entry of this.#entries) {
      const { deadline } = entry
      if (deadline === undefined) continue
      const age = now - entry.request.startedAt
      if (age < Math.min(limits.writeTimeoutMs, timeoutMs)) return
      if (age >= timeoutMs) answerLate(entry)
      // The shorter time is that of the work; the answer has the whole.
      else if (deadline === 'writing' && !entry.reply.sent) answerLateWrite(entry)
    }
  }

  /** From now on `stopping` is true. Nothing else changes. */
  stop(): void {
    this.#stopping = true
  }
  refuse(): void {
    this.#refusing = true
  }

  /** Ends long-running requests, then resolves when every other one is answered, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true
    for (const { request, deadline } of this.#entries)
      if (deadline === undefined) request.abort(new Error('the server is shutting down'))
    if (this.#entries.length === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#emptied = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
