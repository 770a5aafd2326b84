/** What upstream answers where no route is: plain text, not a Status. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { methodNotAllowed } from '#api/errors.js'
import type { GroupVersionResource } from '#api/group-version.js'

export const sendNotFound = (reply: FastifyReply): FastifyReply =>
  reply
    .code(404)
    .header('content-type', 'text/plain; charset=utf-8')
    .header('x-content-type-options', 'nosniff')
    .send('404 page not found\n')

/** What no route takes: an unknown method of a known resource is told so, everything else is not found. */
export const refuseUnknown = (
  app: FastifyInstance,
  table: { get(gvr: GroupVersionResource): unknown },
): void => {
  app.setNotFoundHandler((request, reply) => {
    const info = request.kube?.info
    if (info?.isResourceRequest) {
      const { apiGroup: group, apiVersion: version, resource } = info
      if (table.get({ group, version, resource }) !== undefined) throw methodNotAllowed()
    }
    if (/^\/version(?:\/|$)/.test(info?.path ?? '')) throw methodNotAllowed()
    return sendNotFound(reply)
  })
}
