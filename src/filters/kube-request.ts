/** What the filters learned of a request: `request.kube` for every later filter and handler. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestInfo } from '#api/request-info.js'
import type { UserInfo } from '#api/user-info.js'

export class KubeRequest {
  readonly info: RequestInfo
  /** Milliseconds since the epoch at arrival. */
  readonly now: number
  /** Set by authentication, replaced by impersonation. */
  user: UserInfo
  #raw: FastifyRequest['raw']
  #abort: AbortController | undefined

  constructor(info: RequestInfo, now: number, user: UserInfo, raw: FastifyRequest['raw']) {
    this.info = info
    this.now = now
    this.user = user
    this.#raw = raw
  }

  /** Aborted when the client is gone or the deadline passed. Made at first use: most requests never ask. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      const stop = () => abort.abort()
      if (this.#raw.destroyed) stop()
      // 'close' of an HTTP/1.1 request comes with the end of its body; the socket tells when the client left.
      else if ('stream' in this.#raw) this.#raw.once('close', stop)
      else this.#raw.socket.once('close', stop)
    }
    return this.#abort.signal
  }

  abort(reason: Error): void {
    if (this.#abort !== undefined) this.#abort.abort(reason)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    kube: KubeRequest
  }
}

/** One link of the chain. Throws an ApiError to refuse; a promise only where it really has to wait. */
export type Filter = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
