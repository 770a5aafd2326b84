import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { limits } from '#limits'

interface DialBounds {
  readonly connectMs: number
  readonly handshakeMs: number
}

/**
 * Ends a request, in Go's words, if its connection is not made in time (net/http, DefaultTransport): what waits for a
 * machine that is gone may have no deadline of its own. The system asks now and then whether the other side is still
 * there, which a connection on which nothing is written would never notice. `address` is host and port.
 */
export const boundDial = (
  request: ClientRequest,
  address: string,
  { connectMs, handshakeMs }: DialBounds = {
    connectMs: limits.connectTimeoutMs,
    handshakeMs: limits.tlsHandshakeTimeoutMs,
  },
): void => {
  let timer: NodeJS.Timeout | undefined
  const within = (ms: number, why: () => string): void => {
    clearTimeout(timer)
    timer = setTimeout(() => request.destroy(new Error(why())), ms)
  }
  const done = (): void => clearTimeout(timer)
  request.once('close', done)
  request.once('socket', (socket: Socket) => {
    socket.setKeepAlive(true, limits.clientKeepAliveMs)
    // A kept one.
    if (!socket.connecting) return
    within(connectMs, () => `dial tcp ${address}: i/o timeout`)
    const isSecure = socket instanceof TLSSocket
    if (isSecure) socket.once('secureConnect', done)
    socket.once('connect', () => {
      if (isSecure) within(handshakeMs, () => 'net/http: TLS handshake timeout')
      else done()
    })
  })
}
