/** Answers to what HTTP/1.1's parser cannot read: no request reaches a route then. Forms: Go's net/http, server.go. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { methodNotAllowed } from '#api/errors.js'
import { limits } from '#limits'
import { afterAnswers } from './after-answers.js'

interface ParserError extends Error {
  code?: string
  reason?: string
}

const plain = (problem: string): string =>
  `HTTP/1.1 ${problem}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${problem}`

/** Methods that Node does not know are ordinary ones to Go: the handlers refuse them. */
const refusedMethod = (): string => {
  const body = `${JSON.stringify(methodNotAllowed().status)}\n`
  const headers = [
    `Audit-Id: ${randomUUID()}`,
    'Cache-Control: no-cache, private',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  return `HTTP/1.1 405 Method Not Allowed\r\n${headers.join('\r\n')}\r\n\r\n${body}`
}

const answerTo = ({ code, reason }: ParserError): string => {
  if (code === 'HPE_INVALID_METHOD') return refusedMethod()
  if (code === 'HPE_HEADER_OVERFLOW') return plain('431 Request Header Fields Too Large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return plain('408 Request Timeout')
  if (code === 'HPE_INVALID_HEADER_TOKEN' && reason === 'Invalid header token')
    return plain('400 Bad Request: invalid header name')
  return plain('400 Bad Request')
}

const answered = new WeakSet<Socket>()

/** Parsers complain of all that follows, too: once is answered, and the rest is read away as Go does (closeWriteAndWait). */
export const refuseUnreadable = (error: ParserError, socket: Socket): void => {
  if (answered.has(socket)) return
  // Who did not finish the handshake can be told nothing: an answer would wait for it, and the socket with it.
  const isUntold = error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT'
  if (isUntold || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  answered.add(socket)
  afterAnswers(socket, () => {
    socket.end(answerTo(error))
    // What comes to a closed socket resets the connection, and the client may lose the answer.
    setTimeout(() => socket.destroy(), limits.resetAvoidanceMs).unref()
  })
}

/** CONNECT asks for a tunnel, of which there are none. */
export const refuseTunnel = (_request: unknown, socket: Socket): void => {
  afterAnswers(socket, () => socket.end(refusedMethod()))
}
