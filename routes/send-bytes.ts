/** How the bytes of an answer go out: at once, compressed for who takes it, or bit by bit when they are many. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { limits } from '#limits'
import type { ListBody } from './list-body.js'

const compress = promisify(gzip)

/** Upstream's own threshold and level: smaller answers cost more than they save. */
const acceptsGzip = (request: FastifyRequest): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$)/.test(String(request.headers['accept-encoding'] ?? ''))

/** Bytes need nothing of what Fastify's send looks after; over HTTP/2 it cuts them into frames. */
const writeBytes = (request: FastifyRequest, reply: FastifyReply, bytes: Buffer): void => {
  if (request.raw.httpVersionMajor === 2) {
    reply.send(bytes)
    return
  }
  writeHead(reply, bytes.length).raw.end(bytes)
}

/** From here on the answer is ours to write. */
const writeHead = (reply: FastifyReply, length: number): FastifyReply => {
  const { raw } = reply
  const headers = reply.header('content-length', length).getHeaders()
  reply.hijack()
  raw.writeHead(raw.statusCode, headers as OutgoingHttpHeaders)
  return reply
}

const sendPacked = async (reply: FastifyReply, bytes: Buffer): Promise<void> => {
  const packed = await compress(bytes, { level: constants.Z_BEST_SPEED })
  reply.header('content-encoding', 'gzip').header('vary', 'Accept-Encoding').send(packed)
}

export const sendBytes = (
  request: FastifyRequest,
  reply: FastifyReply,
  bytes: Buffer,
): void | Promise<void> =>
  bytes.length <= limits.gzipBytesMin || !acceptsGzip(request)
    ? writeBytes(request, reply, bytes)
    : sendPacked(reply, bytes)

/** Others have their turn after each few segments, and a client that does not read stops us from making more. */
const writeSegments = async (response: ServerResponse, body: ListBody): Promise<void> => {
  let closed = false
  let goOn = (): void => {}
  response.on('drain', () => goOn())
  response.on('close', () => {
    closed = true
    goOn()
  })
  let sinceTurn = 0
  for (const segment of body.segments()) {
    if (closed) return
    response.write(segment)
    sinceTurn += segment.length
    if (sinceTurn < limits.clientSocketBytesMax) continue
    sinceTurn = 0
    await nextTurn()
    if (!closed && response.writableLength >= limits.clientSocketBytesMax)
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
  }
  response.end()
}

/** A large answer goes out bit by bit, as the client takes it, unless it is to be compressed. */
export const sendSegments = (
  request: FastifyRequest,
  reply: FastifyReply,
  body: ListBody,
): void | Promise<void> => {
  if (body.length > limits.listSegmentBytes && !acceptsGzip(request))
    return writeSegments(writeHead(reply, body.length).raw, body)
  const [first, ...more] = body.segments()
  return sendBytes(request, reply, more.length === 0 ? first! : Buffer.concat([first!, ...more]))
}
