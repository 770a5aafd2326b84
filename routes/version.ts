/** `/version`: which Kubernetes this server answers as. */
import type { FastifyInstance, RouteHandler } from 'fastify'
import { checkContentType, fitsRoute, notAcceptable } from '#api/accept.js'
import { type BuildInfo, versionDocument } from '#api/build-info.js'
import { methodNotAllowed, pathNotFound } from '#api/errors.js'

const produced = ['application/json']

export const installVersion = (app: FastifyInstance, build: BuildInfo): void => {
  const body = Buffer.from(JSON.stringify(versionDocument(build), null, 2))
  const version: RouteHandler = (request, reply) => {
    if (request.method !== 'GET') throw methodNotAllowed()
    checkContentType(request.bodyType, produced)
    if (!fitsRoute(request.headers.accept, produced)) throw notAcceptable(produced)
    return reply.header('content-type', 'application/json').send(body)
  }
  for (const url of ['/version', '/version/']) app.all(url, version)
  // Upstream has a go-restful service here: unknown paths get a Status.
  app.all('/version/*', () => {
    throw pathNotFound()
  })
}
