/** Answers to bytes that Node's HTTP/1.1 parser refuses, which reach no route. Forms: Go's net/http, server.go. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { methodNotAllowed } from '#api/errors.js'
import { limits } from '#limits'
import { afterAnswers } from './after-answers.js'

interface ParserError extends Error {
  code?: string
  reason?: string
  /** What the parser was given last, and where in it it stopped. */
  rawPacket?: Buffer
  bytesParsed?: number
}

const plain = (problem: string): string =>
  `HTTP/1.1 ${problem}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${problem}`

/** For Go a method that Node does not know is an ordinary one, which the handlers refuse. */
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

const tokenCharacter = /[\w!#$%&'*+.^`|~-]/

/** A request line whose method is a token, as Go wants it; body that came unframed is none. */
const isRequestLine = (packet: string, at: number): boolean => {
  let start = at
  while (start > 0 && tokenCharacter.test(packet[start - 1]!)) start--
  const [line] = packet.slice(start).split(/\r?\n/, 1)
  return /^[\w!#$%&'*+.^`|~-]+ (\*|\/\S*|\w+:\/\/\S*) HTTP\/1\.\d$/.test(line!)
}

const answerTo = ({ code, reason, rawPacket, bytesParsed = 0 }: ParserError): string => {
  if (
    code === 'HPE_INVALID_METHOD' &&
    isRequestLine(rawPacket?.toString('latin1') ?? '', bytesParsed)
  )
    return refusedMethod()
  if (code === 'HPE_HEADER_OVERFLOW') return plain('431 Request Header Fields Too Large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return plain('408 Request Timeout')
  if (code === 'HPE_INVALID_HEADER_TOKEN' && reason === 'Invalid header token')
    return plain('400 Bad Request: invalid header name')
  return plain('400 Bad Request')
}

const answered = new WeakSet<Socket>()

/**
 * The parser also complains of everything that follows: only the first complaint is answered, and the rest is read and
 * dropped, as Go does (closeWriteAndWait).
 */
export const refuseUnreadable = (error: ParserError, socket: Socket): void => {
  if (answered.has(socket)) return
  // Without a finished handshake no answer can be sent; it would keep the socket open.
  const isUntold = error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT'
  if (isUntold || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  answered.add(socket)
  afterAnswers(socket, () => {
    socket.end(answerTo(error))
    // Bytes that reach a closed socket reset the connection, and the client may lose the answer.
    setTimeout(() => socket.destroy(), limits.resetAvoidanceMs).unref()
  })
}

/** CONNECT asks for a tunnel, which the server does not offer. */
export const refuseTunnel = (socket: Socket): void => {
  afterAnswers(socket, () => socket.end(refusedMethod()))
}
