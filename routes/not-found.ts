/** What upstream answers where no route is: plain text, and a Status only for paths of resources. */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'

export const sendNotFound = (reply: FastifyReply): FastifyReply =>
  reply
    .code(404)
    .header('content-type', 'text/plain; charset=utf-8')
    .header('x-content-type-options', 'nosniff')
    .send('404 page not found\n')

/**
 * Answers requests without a route. `refuseApi`, the handler of all paths of resources, knows whether the method or the
 * path is unknown. No root begins with two slashes, whatever is asked for behind them.
 */
export const refuseUnknown = (app: FastifyInstance, refuseApi: RouteHandlerMethod): void => {
  app.setNotFoundHandler(function (request, reply) {
    const info = request.kube?.info
    if (info?.isResourceRequest && !request.url.startsWith('//'))
      return refuseApi.call(this, request, reply)
    return sendNotFound(reply)
  })
}
