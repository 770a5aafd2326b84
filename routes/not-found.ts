/** What upstream answers where no route is: plain text, not a Status. */
import type { FastifyReply } from 'fastify'

export const sendNotFound = (reply: FastifyReply): FastifyReply =>
  reply
    .code(404)
    .header('content-type', 'text/plain; charset=utf-8')
    .header('x-content-type-options', 'nosniff')
    .send('404 page not found\n')
