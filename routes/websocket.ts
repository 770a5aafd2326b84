/**
 * Answers to who asks for a WebSocket, as browsers and some client libraries do: a message for each event of a watch, or
 * for what a log says (apimachinery, pkg/util/httpstream/wsstream).
 */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { limits } from '#limits'
import type { Upgrade } from './forward.js'

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  // Clients have nothing to say: what they send is passed over.
  maxPayload: limits.webSocketMessageBytesMax,
  handleProtocols: (offered) => [...offered][0] ?? false,
})

export const asksForWebSocket = ({ headers }: FastifyRequest): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket'

/** As they were offered, in their order. */
export const offeredProtocols = ({ headers }: FastifyRequest): string[] =>
  (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Messages to one client; what it is told is bounded by what its socket takes. */
export class MessageStream {
  readonly #webSocket: WebSocket
  readonly #upgrade: Upgrade

  constructor(webSocket: WebSocket, upgrade: Upgrade) {
    this.#webSocket = webSocket
    this.#upgrade = upgrade
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN
  }

  send(message: Buffer | string, binary: boolean): void {
    if (this.isOpen) this.#webSocket.send(message, { binary })
  }

  /** Undefined while the client keeps up. */
  drained(signal: AbortSignal): Promise<unknown> | undefined {
    const { socket } = this.#upgrade
    if (socket.writableLength <= limits.clientSocketBytesMax) return undefined
    return once(socket, 'drain', { signal })
  }

  /** Upstream waits for no farewell either. */
  end(): void {
    this.#webSocket.close(1000)
    this.#upgrade.socket.end()
  }
}

/** Undefined when the handshake is refused, which has been answered then. The first protocol that is offered is taken. */
export const acceptMessages = (
  request: FastifyRequest,
  reply: FastifyReply,
  upgrade: Upgrade,
): MessageStream | undefined => {
  const { socket, head } = upgrade
  reply.hijack()
  reply.raw.detachSocket(socket)
  socket.setNoDelay(true)
  socket.setTimeout(0)
  // Whoever counts open requests waits for this.
  socket.once('close', () => reply.raw.emit('close'))
  let accepted: MessageStream | undefined
  sockets.handleUpgrade(request.raw, socket, head, (webSocket) => {
    // Its socket closes then, which tells of the end.
    webSocket.on('error', () => {})
    accepted = new MessageStream(webSocket, upgrade)
  })
  return accepted
}
