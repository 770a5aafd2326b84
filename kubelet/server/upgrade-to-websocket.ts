import type { WebSocket, WebSocketServer } from 'ws'
import type { Upgraded } from './pod-request.js'

/** Takes the connection over for WebSocket, in one of the protocols that `sockets` knows. */
export const upgradeToWebSocket = (
  sockets: WebSocketServer,
  { request, socket, head }: Upgraded,
  accept: (webSocket: WebSocket) => void,
): void =>
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    // What is no frame closes it, and that event is handled. An error that nobody listens to would end the kubelet.
    webSocket.on('error', () => {})
    accept(webSocket)
  })
