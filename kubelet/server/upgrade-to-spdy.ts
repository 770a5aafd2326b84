/** SPDY/3.1 on the client's bare connection, as client-go's older executors speak it. */

import { type Peer, peerOf } from './flow-control.js'
import { HttpError, type Upgraded } from './pod-request.js'
import { SpdyConnection, type SpdyStream } from './spdy.js'

export const spdyName = 'SPDY/3.1'

interface SpdyClient {
  readonly peer: Peer
  /** Hangs up when all has been sent. */
  end(): void
}

/** Takes the connection over for this protocol. `onStream` is told of each stream that the client opens, `onClose` of its end. */
export const upgradeToSpdy = (
  { request, socket, head }: Upgraded,
  protocol: string,
  { onStream, onClose }: { onStream(stream: SpdyStream): void; onClose(): void },
): SpdyClient => {
  const offered = [request.headers['x-stream-protocol-version'] ?? []].flat().join(',')
  if (!offered.split(',').some((one) => one.trim() === protocol))
    throw new HttpError(
      403,
      `unable to upgrade: unable to negotiate protocol: client supports [${offered}], server supports [${protocol}]`,
    )
  const peer = peerOf(socket)
  const server = new SpdyConnection((bytes) => {
    if (socket.writable) socket.write(bytes)
  }, onStream)
  const receive = (bytes: Buffer) => {
    server.receive(bytes).catch(() => socket.destroy())
  }
  socket.setNoDelay(true)
  socket.on('data', receive)
  socket.once('close', () => {
    server.close()
    onClose()
  })
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    `Upgrade: ${spdyName}`,
    `X-Stream-Protocol-Version: ${protocol}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  if (head.length > 0) receive(head)
  return { peer, end: () => socket.end() }
}
