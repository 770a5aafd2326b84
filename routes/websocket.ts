/**
 * Answers to who asks for a WebSocket, as browsers and some client libraries do: a message for each event of a watch, or
 * for what a log says (apimachinery, pkg/util/httpstream/wsstream).
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { asksForWebSocket } from '#api/websocket-request.js'
import { limits } from '#limits'
import type { ApiDeps } from './api-deps.js'
import type { Upgrade } from './forward.js'

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  // Clients have nothing to say: what they send is passed over.
  maxPayload: limits.webSocketMessageBytesMax,
  handleProtocols: (offered) => [...offered][0] ?? false,
})

/** The connection of a request that asks for a WebSocket. */
export const webSocketOf = (
  request: FastifyRequest,
  { upgradeOf }: Pick<ApiDeps, 'upgradeOf'>,
): Upgrade | undefined => (asksForWebSocket(request.headers) ? upgradeOf(request) : undefined)

/** Messages to one client; what it is told is bounded by what its socket takes. */
export class MessageStream {
  readonly #webSocket: WebSocket
  readonly #socket: Socket

  constructor(webSocket: WebSocket, { socket }: Upgrade) {
    this.#webSocket = webSocket
    this.#socket = socket
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN
  }

  send(message: Buffer | string, binary: boolean): void {
    if (this.isOpen) this.#webSocket.send(message, { binary })
  }

  /** Undefined while the client keeps up. */
  drained(signal: AbortSignal): Promise<unknown> | undefined {
    if (this.#socket.writableLength <= limits.clientSocketBytesMax) return undefined
    return once(this.#socket, 'drain', { signal })
  }

  /** Upstream waits for no farewell either. */
  end(): void {
    this.#webSocket.close(1000)
    this.#socket.end()
  }
}

/** Undefined when the handshake is refused, which has been answered then. The first protocol that is offered is taken. */
export const acceptMessages = (
  request: FastifyRequest,
  reply: FastifyReply,
  { socket, head }: Upgrade,
): WebSocket | undefined => {
  reply.hijack()
  reply.raw.detachSocket(socket)
  request.kube.audit?.started(101)
  socket.setNoDelay(true)
  socket.setTimeout(0)
  // Whoever counts open requests waits for this.
  socket.once('close', () => reply.raw.emit('close'))
  let accepted: WebSocket | undefined
  sockets.handleUpgrade(request.raw, socket, head, (webSocket) => {
    // Its socket closes then, which tells of the end.
    webSocket.on('error', () => {})
    accepted = webSocket
  })
  return accepted
}
