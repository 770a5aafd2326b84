/** Breaks off the answer to a request, as a client sees it when a server is killed. */
import { constants, type Http2Stream } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * What was written before is still sent, and nothing is written after. Over HTTP/2 other requests share the connection,
 * so only the stream is reset.
 */
export const hangUp = ({ raw: { socket }, kube }: FastifyRequest, { raw }: FastifyReply): void => {
  kube.isCut = true
  const nothing = () => raw
  Object.assign(raw, { writeHead: nothing, write: () => true, end: nothing, flushHeaders: nothing })
  const { stream } = raw as { stream?: Http2Stream }
  if (stream === undefined) {
    socket.destroySoon()
    return
  }
  const reset = (): void => stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  if (raw.headersSent && !stream.destroyed) stream.write(Buffer.alloc(0), reset)
  else reset()
}

/** Every answer begins with one of these methods of Node, whether Fastify writes it or not. */
export const hangUpWhenAnswered = (request: FastifyRequest, reply: FastifyReply): void => {
  const instead = () => {
    hangUp(request, reply)
    return reply.raw
  }
  Object.assign(reply.raw, { writeHead: instead, end: instead })
}
