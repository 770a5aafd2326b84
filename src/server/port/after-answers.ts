/**
 * An upgrade, CONNECT or bytes that are not a request end HTTP on a connection. Node hands the connection over at once,
 * while answers to earlier requests may still be written. Go reads on only when they have been sent (net/http,
 * conn.serve).
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The answer that is being written, as Node's HTTP server notes it: there is no public way to ask. */
interface AnsweringSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null
}

/**
 * Calls back when the earlier answers have been written, unless the connection ends with them. If it is the body of a
 * request that cannot be read, there is no answer to wait for.
 */
export const afterAnswers = (socket: Socket, next: () => void): void => {
  const { _httpMessage: answer } = socket as AnsweringSocket
  if (!socket.writable) return
  if (!answer?.req.complete) {
    next()
    return
  }
  // Node's server has detached from the socket, so its 'drain' must be passed on to the answer.
  const goOn = () => answer.emit('drain')
  socket.on('drain', goOn)
  answer.once('close', () => {
    socket.off('drain', goOn)
    afterAnswers(socket, next)
  })
}
