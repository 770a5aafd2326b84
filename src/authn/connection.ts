import type { Http2ServerRequest } from 'node:http2'
import type { FastifyRequest } from 'fastify'

/**
 * The connection of a request, as a key for what is known of it. Not `raw.socket`, which over HTTP/2 is a new object for
 * each request (Node's compatibility API).
 */
export const connectionOf = ({ raw }: FastifyRequest): object =>
  (raw as Partial<Pick<Http2ServerRequest, 'stream'>>).stream?.session ?? raw.socket
