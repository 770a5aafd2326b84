/** /statusz and /flagz of this server. */
import type { FastifyInstance } from 'fastify'
import { type ZPagePath, type ZPageSources, zPage } from '#api/z-pages.js'

/** Upstream lists the first segments of all paths that are not of the API. */
const paths = ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version']

/** `isThere`: which of the pages are. */
export const installZPages = (
  app: FastifyInstance,
  facts: Pick<ZPageSources, 'startedAt' | 'build' | 'flags'>,
  isThere: Readonly<Record<ZPagePath, boolean>>,
): void => {
  const sources = { ...facts, component: 'apiserver', paths }
  for (const path of ['/statusz', '/flagz'] as const) {
    if (!isThere[path]) continue
    app.all(path, (request, reply) => {
      const { headers, text } = zPage(path, sources, request, request.kube.now)
      // A text of this type would get a charset.
      return reply.headers(headers).send(Buffer.from(text))
    })
  }
}
