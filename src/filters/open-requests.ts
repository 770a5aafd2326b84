/** Keeps track of what is being answered, so that a drain can wait for short requests and end long ones. */
import type { FastifyReply } from 'fastify'
import { timeout } from '#api/errors.js'
import type { KubeRequest } from './kube-request.js'

/** Numbers of short requests, reading and writing ones apart. */
export interface InFlight {
  reading: number
  mutating: number
}

export class OpenRequests {
  /** What runs now. */
  readonly running: InFlight = { reading: 0, mutating: 0 }
  /** In order of arrival. */
  readonly #open = new Map<KubeRequest, FastifyReply>()
  readonly #longRunning = new Set<KubeRequest>()
  #draining = false
  #emptied: (() => void) | undefined

  get draining(): boolean {
    return this.#draining
  }
  get count(): number {
    return this.#open.size
  }

  /** `kind` is undefined for a long-running request, which counts for no limit. */
  add(request: KubeRequest, reply: FastifyReply, kind: keyof InFlight | undefined): void {
    if (kind === undefined) this.#longRunning.add(request)
    else this.running[kind]++
    this.#open.set(request, reply)
    if (kind === undefined && this.#draining)
      request.abort(new Error('the server is shutting down'))
    reply.raw.once('close', () => {
      this.#open.delete(request)
      if (kind === undefined) this.#longRunning.delete(request)
      else this.running[kind]--
      if (this.#open.size === 0) this.#emptied?.()
    })
  }

  /**
   * Answers what has run for longer than `timeoutMs` with a 504, and tells whoever works on it to stop. One look a second
   * at the oldest is cheaper than a timer for each request.
   */
  expire(now: number, timeoutMs: number): void {
    for (const [request, reply] of this.#open) {
      if (this.#longRunning.has(request)) continue
      if (now - request.now < timeoutMs) return
      const late = timeout('request did not complete within the allotted timeout')
      request.abort(late)
      if (!reply.sent) reply.send(late)
    }
  }

  /** Ends long-running requests, then resolves when every other one is answered, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true
    for (const request of this.#longRunning) request.abort(new Error('the server is shutting down'))
    if (this.#open.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#emptied = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
