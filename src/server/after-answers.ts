/**
 * What ends HTTP on a connection (an upgrade, CONNECT, bytes that are no request) is read while answers to what came before
 * it may be on their way, and Node hands it over at once. Go reads it when they have gone (net/http, conn.serve).
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The answer that is being written, as Node's HTTP server notes it: there is no public way to ask. */
interface AnsweringSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null
}

/**
 * Calls back when nothing more is to be written before, unless the connection ends with that. A request whose body is what
 * cannot be read has no answer to wait for.
 */
export const afterAnswers = (socket: Socket, next: () => void): void => {
  const { _httpMessage: answer } = socket as AnsweringSocket
  if (!socket.writable) return
  if (!answer?.req.complete) {
    next()
    return
  }
  // Node's server has let go of the socket: nobody else tells the answer that there is room for more of it.
  const goOn = () => answer.emit('drain')
  socket.on('drain', goOn)
  answer.once('close', () => {
    socket.off('drain', goOn)
    afterAnswers(socket, next)
  })
}
