/**
 * The API's paths. Two routes of Fastify take them all, and look in the resource table by the RequestInfo that the filters
 * made. A Fastify route for each resource and verb would take a third of each start, and Fastify takes no new routes for
 * custom resources once it listens.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteHandlerMethod,
  RouteOptions,
} from 'fastify'
import { ApiError, badRequest, methodNotAllowed, pathNotFound } from '#api/errors.js'
import type { RequestInfo } from '#api/request-info.js'
import { readingPhase } from '#async/reading-phase.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { YamlReader } from '#registry/yaml/reader.js'
import type { ApiDeps } from './api-deps.js'
import { leftUnread } from './forwarded-headers.js'
import { refuseUnknown } from './not-found.js'
import { readLargeYaml, tooLarge } from './request-body.js'
import { warnOfDeprecation } from './request-context.js'
import {
  isFormerProxy,
  mustBeServed,
  namespaceOf,
  refusal,
  routeFinder,
} from './resource-routes.js'
import { hasPatchRoute } from './verbs/patch.js'
import { watchLegacy } from './verbs/watch-legacy.js'

/** An error after the answer has begun can only be logged. */
const watchLate = (
  result: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { report }: ApiDeps,
): unknown =>
  result instanceof Promise
    ? result.catch((error: unknown) => {
        if (!reply.sent) throw error
        if (!(error instanceof ApiError))
          report({ err: error, url: request.url }, 'the answer broke off')
      })
    : result

const findDefinition = (info: RequestInfo, { table }: ApiDeps): ResourceDefinition | undefined => {
  const { apiGroup: group, apiVersion: version, resource } = info
  return info.isResourceRequest ? table.get({ group, version, resource }) : undefined
}

/** `/api/v1/watch/pods`, but not a watch in the namespace that is named `watch`. */
const isLegacyWatch = ({ verb, path }: RequestInfo): boolean =>
  verb === 'watch' && /^\/(?:api|apis\/[^/]+)\/[^/]+\/watch\//.test(path)

/**
 * Writes that arrive in one turn of the event loop are handled in the next, one right after the other: a write goes
 * through so much code that reading from a socket in between makes it a quarter dearer (processor caches).
 */
const serve = (deps: ApiDeps, yaml: YamlReader): RouteHandlerMethod => {
  const { lookAgain } = deps
  const answer = answerWith(deps)
  const answerRead = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { info } = request.kube
    const { apiGroup: group, apiVersion: version, resource } = info
    const found = findDefinition(info, deps)
    // Perhaps a custom resource that so far only another server knows of.
    return found === undefined && info.isResourceRequest && group !== ''
      ? lookAgain({ group, version, resource }).then(() =>
          answer(findDefinition(info, deps), request, reply),
        )
      : answer(found, request, reply)
  }
  return (request, reply) => {
    const ready =
      readLargeYaml(request, yaml) ?? (request.method === 'GET' ? undefined : readingPhase())
    const answered =
      ready === undefined
        ? answerRead(request, reply)
        : ready.then(() => answerRead(request, reply))
    return watchLate(answered, request, reply, deps)
  }
}

const answerWith = (deps: ApiDeps) => {
  const findRoute = routeFinder(deps)
  return (found: ResourceDefinition | undefined, request: FastifyRequest, reply: FastifyReply) => {
    const { info } = request.kube
    const { parts } = info
    const definition = mustBeServed(found, info, deps)
    const { isCustom } = definition
    if (isCustom) warnOfDeprecation(definition, request, reply, false)
    const name = parts[1] ?? ''
    const namespace = namespaceOf(info, definition)
    if (isLegacyWatch(info)) {
      // The handler of custom resources finds their subresources on this path, too, and none that can be watched.
      if (isCustom && parts.length > 2) throw refusal(findRoute(info, definition), info)
      if (!definition.verbs.includes('watch') || parts.length > 2) throw pathNotFound()
      // Upstream's handler of custom resources goes by the verb in the path alone.
      if (request.method !== 'GET' && !isCustom) throw methodNotAllowed()
      const store = deps.stores.of(definition)
      if (!isCustom) warnOfDeprecation(definition, request, reply, true)
      const target = { definition, store, subresource: '', view: undefined, namespace, name }
      return watchLegacy(target, request, reply, deps)
    }
    const route = findRoute(info, definition)
    const handler = isFormerProxy(info) ? undefined : route.handlers.get(request.method)
    if (handler === undefined) throw refusal(route, info)
    const isList = request.method === 'GET' && route.scope !== 'object'
    if (!isCustom && (request.method !== 'PATCH' || hasPatchRoute(request)))
      warnOfDeprecation(definition, request, reply, isList)
    if (route.scope === 'object') {
      if (namespace === '') throw badRequest('Namespace parameter required.')
      if (name === '') throw badRequest('name must be provided')
    }
    const { store, subresource, view } = route
    const target = { definition, store, subresource, view, namespace, name }
    return handler(target, request, reply, deps)
  }
}

const anyMethod: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const goesOnAfterHeaders = (raw: IncomingMessage | Http2ServerRequest): boolean =>
  'stream' in raw && !raw.stream.endAfterHeaders

/**
 * Fastify would refuse a Content-Type by itself, before any handler and in its own words. So it is hidden from Fastify;
 * handlers find it in `bodyType`. What goes on to a Pod, a Service or a node may be of any size, and is not read here.
 */
const hideContentType = (app: FastifyInstance): void => {
  app.decorateRequest('bodyType', '')
  app.addContentTypeParser(leftUnread, (_request, _body, done) => done(null))
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    request.bodyType = headers['content-type'] ?? ''
    if (request.kube.info.subresource === 'proxy') {
      headers['content-type'] = leftUnread
      done()
      return
    }
    // Fastify refuses a QUERY without it, and reads no body of HTTP/2 that names neither its type nor its length.
    if (
      headers['content-type'] !== undefined ||
      request.method === 'QUERY' ||
      goesOnAfterHeaders(request.raw)
    )
      headers['content-type'] = 'application/octet-stream'
    done()
  })
}

/**
 * Upstream reads a body last, so that any other fault of the request is reported before its size. What is thrown here
 * Fastify would send as an answer if it were an Error of another realm, as Node's own are for a server in Jest.
 */
const refuseSizeLast = (
  app: FastifyInstance,
  handler: RouteHandlerMethod,
): RouteOptions['errorHandler'] =>
  function (error, request, reply) {
    if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return app.errorHandler(error, request, reply)
    request.body = tooLarge
    return handler.call(this, request, reply) as never
  }

/** Serves every resource of the table, now and as rows come and go. */
export const installApi = (app: FastifyInstance, deps: ApiDeps): void => {
  hideContentType(app)
  app.decorateRequest('yaml', undefined)
  const yaml = new YamlReader()
  app.addHook('onClose', () => yaml.end())
  const handler = serve(deps, yaml)
  for (const url of ['/api/:version/*', '/apis/:group/:version/*'])
    app.route({ method: anyMethod, url, handler, errorHandler: refuseSizeLast(app, handler) })
  refuseUnknown(app, handler)
}
