/**
 * Handles pipelined requests of an HTTP/1.1 connection one after the other, as Go, which reads the next when the one
 * before is answered (net/http, conn.serve). Node reads on, and a thousand answers could wait for the first to be sent.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Number of waiting requests by connection. */
const waiting = new WeakMap<Socket, number>()

/** Node resumes reading in a tick after each request and each answer. This pauses after that. */
const holdBack = (socket: Socket): void =>
  queueMicrotask(() => {
    if (waiting.get(socket)! > 0) socket.pause()
  })

/**
 * Calls back when the response gets its socket, which may be never: waiting requests go with their connection. Nothing
 * more is read from the connection meanwhile.
 */
export const whenItsTurn = (response: ServerResponse, begin: () => void): void => {
  const { socket } = response.req
  waiting.set(socket, (waiting.get(socket) ?? 0) + 1)
  holdBack(socket)
  response.once('socket', () => {
    const left = waiting.get(socket)! - 1
    waiting.set(socket, left)
    if (left === 0) socket.resume()
    else holdBack(socket)
    begin()
  })
}
