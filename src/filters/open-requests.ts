/** Keeps track of what is being answered, so that a drain can wait for short requests and end long ones. */
import type { FastifyReply } from 'fastify'
import type { KubeRequest } from './kube-request.js'

export class OpenRequests {
  /** Short requests that run now, reading and writing ones apart. */
  readonly running = { reading: 0, mutating: 0 }
  readonly #open = new Set<KubeRequest>()
  #longRunning = new Set<KubeRequest>()
  #draining = false
  #emptied: (() => void) | undefined

  get draining(): boolean {
    return this.#draining
  }
  get count(): number {
    return this.#open.size
  }

  add(request: KubeRequest, reply: FastifyReply, longRunning: boolean): void {
    this.#open.add(request)
    if (longRunning) this.#longRunning.add(request)
    if (longRunning && this.#draining) request.abort(new Error('the server is shutting down'))
    reply.raw.once('close', () => {
      this.#open.delete(request)
      this.#longRunning.delete(request)
      if (this.#open.size === 0) this.#emptied?.()
    })
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
