import type { Http2ServerRequest } from 'node:http2'
import type { FastifyRequest } from 'fastify'

/**
 * The connection that a request came by: what is known of it holds for all requests on it. Over HTTP/2 `raw.socket` is an
 * object of its own for each request (Node's compatibility API), so that nothing kept by it was ever found again.
 */
export const connectionOf = ({ raw }: FastifyRequest): object =>
  (raw as Partial<Pick<Http2ServerRequest, 'stream'>>).stream?.session ?? raw.socket
