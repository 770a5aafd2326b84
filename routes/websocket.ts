/**
 * Answers over WebSocket, which browsers and some client libraries ask for: a message for each event of a watch or each
 * piece of a log (apimachinery, pkg/util/httpstream/wsstream).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { limits } from '#limits'
import { drained } from '#net/drained.js'
import { asksForWebSocket } from '#net/websocket-request.js'
import type { ApiDeps } from './api-deps.js'
import type { Upgrade } from './forward.js'

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  // What clients send is ignored.
  maxPayload: limits.webSocketMessageBytesMax,
  handleProtocols: (offered) => [...offered][0] ?? false,
})

/** The connection of a request that asks for a WebSocket. */
export const webSocketOf = (
  request: FastifyRequest,
  { upgradeOf }: Pick<ApiDeps, 'upgradeOf'>,
): Upgrade | undefined => (asksForWebSocket(request.headers) ? upgradeOf(request) : undefined)

/** Messages to one client. What waits for it is bounded by its socket. */
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
    return drained(this.#socket, signal)
  }

  /** Upstream does not wait for the client's close frame either. */
  end(): void {
    this.#webSocket.close(1000)
    this.#socket.end()
  }
}

/** Where somebody else decides: the code of a refusal. */
type RefuseHandshake = (headers: IncomingHttpHeaders) => 400 | 403 | undefined

/** What golang.org/x/net/websocket (hybi.go, server.go) writes to who cannot shake hands: nothing that our answers have. */
const refusalOf = (headers: IncomingHttpHeaders, refuse: RefuseHandshake): string | undefined => {
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers
  const badRequest = 'HTTP/1.1 400 Bad Request\r\n'
  if (key === '') return `${badRequest}\r\nmismatch challenge/response`
  if (version !== '13')
    return `${badRequest}Sec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version`
  const code = refuse(headers)
  return code && (code === 403 ? 'HTTP/1.1 403 Forbidden\r\n\r\n' : `${badRequest}\r\n`)
}

/** Takes the first protocol that is offered. Undefined when the handshake was refused; the refusal has been sent then. */
export const acceptMessages = (
  request: FastifyRequest,
  reply: FastifyReply,
  { socket, head }: Upgrade,
  refuse: RefuseHandshake,
): WebSocket | undefined => {
  reply.hijack()
  reply.raw.detachSocket(socket)
  request.kube.audit?.started(101)
  socket.setNoDelay(true)
  socket.setTimeout(0)
  // OpenRequests waits for this event.
  socket.once('close', () => reply.raw.emit('close'))
  const refusal = refusalOf(request.headers, refuse)
  if (refusal !== undefined) {
    socket.end(refusal)
    return undefined
  }
  let accepted: WebSocket | undefined
  sockets.handleUpgrade(request.raw, socket, head, (webSocket) => {
    // Its socket closes after an error, and that event is handled.
    webSocket.on('error', () => {})
    accepted = webSocket
  })
  return accepted
}
