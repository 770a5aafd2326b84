/**
 * Requests of one connection of HTTP/1.1, one after the other: Go reads the next when the one before is answered
 * (net/http, conn.serve). Node reads on, and would have a thousand answers made that wait for the first to be taken.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many on a connection wait. */
const waiting = new WeakMap<Socket, number>()

/** Node reads on at the end of each request and of each answer, in a tick of its own: this comes behind that. */
const holdBack = (socket: Socket): void =>
  queueMicrotask(() => {
    if (waiting.get(socket)! > 0) socket.pause()
  })

/**
 * Calls back when it is the turn of a response that has no socket yet, if it ever is: what waits goes with its connection.
 * Meanwhile no more is read than what came with it.
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
