/**
 * The API's paths: for each resource of the table and each verb that it offers, a shared handler (apiserver,
 * endpoints/installer.go). Two routes of Fastify take them all, and look in the table by the RequestInfo that the filters
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
import {
  ApiError,
  badRequest,
  methodNotAllowed,
  methodNotSupported,
  notFound,
  pathNotFound,
} from '#api/errors.js'
import { PlainTextError } from '#api/plain-text-error.js'
import { readingPhase } from '#api/reading-phase.js'
import type { RequestInfo } from '#api/request-info.js'
import type { ResourceDefinition, Subresource, Verb } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { YamlReader } from '#registry/yaml-reader.js'
import type { ApiDeps, VerbHandler } from './api-deps.js'
import { connect } from './connect/connect.js'
import { refuseUnknown } from './not-found.js'
import { readLargeYaml, tooLarge } from './request-body.js'
import { warnOfDeprecation } from './request-context.js'
import { createObject } from './verbs/create.js'
import { deleteObject } from './verbs/delete.js'
import { deleteObjects } from './verbs/delete-collection.js'
import { getObject } from './verbs/get.js'
import { listObjects } from './verbs/list.js'
import { hasPatchRoute, patchObject, patchTypeOf } from './verbs/patch.js'
import { createThroughSubresource } from './verbs/subresource.js'
import { updateObject } from './verbs/update.js'
import { createVirtual } from './verbs/virtual.js'
import { watchLegacy } from './verbs/watch-legacy.js'

type Scope = 'collection' | 'everywhere' | 'object'
type Handlers = Readonly<Partial<Record<string, { verb: Verb; handler: VerbHandler }>>>

const collectionHandlers: Handlers = {
  GET: { verb: 'list', handler: listObjects },
  POST: { verb: 'create', handler: createObject },
  DELETE: { verb: 'deletecollection', handler: deleteObjects },
}
const objectHandlers: Handlers = {
  GET: { verb: 'get', handler: getObject },
  PUT: { verb: 'update', handler: updateObject },
  PATCH: { verb: 'patch', handler: patchObject },
  DELETE: { verb: 'delete', handler: deleteObject },
}
const viewHandlers: Handlers = {
  GET: { verb: 'get', handler: getObject },
  PUT: { verb: 'update', handler: updateObject },
  PATCH: { verb: 'patch', handler: patchObject },
  POST: { verb: 'create', handler: createThroughSubresource },
}
const connectVerbs: Readonly<Record<string, Verb>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}
const statusVerbs: readonly Verb[] = ['get', 'update', 'patch']

/** The path of a namespaced resource without a namespace can only be read (apiserver, installer.go). */
const handlersOf = (definition: ResourceDefinition, scope: Scope): Handlers => {
  if (scope === 'object') return objectHandlers
  if (scope === 'everywhere' && definition.namespaced) return { GET: collectionHandlers.GET }
  return collectionHandlers
}

const handlerFor = (
  definition: ResourceDefinition,
  scope: Scope,
  method: string,
): VerbHandler | undefined => {
  const found = handlersOf(definition, scope)[method]
  if (found === undefined) return undefined
  if (found.verb === 'create' && definition.strategy.createInstead !== undefined)
    return createVirtual
  return definition.verbs.includes(found.verb) ? found.handler : undefined
}

/** One kind of path of a resource. */
interface Shape {
  readonly definition: ResourceDefinition
  readonly scope: Scope
  /** Empty for the main resource. */
  readonly subresource: string
  /** Undefined for the main resource and `status`. */
  readonly view: Subresource | undefined
}

/** A shape with its handlers by method. */
interface Route extends Shape {
  readonly store: Store
  readonly handlers: ReadonlyMap<string, VerbHandler>
}

const verbsOfSubresource = ({ subresource, view }: Shape): readonly Verb[] =>
  subresource === 'status' ? statusVerbs : (view?.verbs ?? [])

const refuseNameless: VerbHandler = (target, request) => {
  // Upstream checks the type of a patch before the name.
  if (request.method === 'PATCH') patchTypeOf(request, target)
  throw badRequest('name must be provided')
}

/**
 * Upstream's server of custom resources goes by the verb, not by the path: HEAD is a get, a POST to any path creates the
 * object in its body, and PUT or PATCH of a collection lacks a name (apiextensions, customresource_handler.go).
 */
const addByVerb = ({ scope, subresource }: Shape, found: Map<string, VerbHandler>): void => {
  const get = found.get('GET')
  if (get !== undefined) found.set('HEAD', get)
  if (subresource !== '') return
  if (scope === 'object') found.set('POST', createObject)
  if (scope === 'collection')
    for (const method of ['PUT', 'PATCH']) found.set(method, refuseNameless)
}

const handlersByMethod = (shape: Shape): ReadonlyMap<string, VerbHandler> => {
  const { definition, scope, subresource, view } = shape
  const found = new Map<string, VerbHandler>()
  const add = (method: string, handler: VerbHandler | undefined): void => {
    if (handler !== undefined) found.set(method, handler)
  }
  if (subresource === '')
    for (const method of Object.keys(handlersOf(definition, scope)))
      add(method, handlerFor(definition, scope, method))
  else if (view?.style === 'connect') {
    for (const [method, verb] of Object.entries(connectVerbs))
      add(method, view.verbs.includes(verb) ? connect : undefined)
    // The proxied server decides about these methods.
    if (subresource === 'proxy') for (const method of ['HEAD', 'OPTIONS']) add(method, connect)
  } else {
    const verbs = verbsOfSubresource(shape)
    for (const [method, own] of Object.entries(viewHandlers))
      add(method, verbs.includes(own!.verb) ? own!.handler : undefined)
  }
  if (definition.isCustom) addByVerb(shape, found)
  return found
}

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

const groupIsBuiltIn = ({ table }: ApiDeps, group: string): boolean => {
  for (const { gvr, isCustom } of table) if (gvr.group === group && !isCustom) return true
  return false
}

/** Upstream's server of custom resources is the last in the chain: it answers unknown paths with text, not a Status. */
const pageNotFound = (): PlainTextError => new PlainTextError(404, '404 page not found\n')

/** Undefined for a path without a namespace; '' where its segment is empty, which custom resources take for none. */
const namespaceOf = (
  { namespace, path }: RequestInfo,
  { namespaced, isCustom }: ResourceDefinition,
): string | undefined =>
  namespaced && (namespace !== '' || (!isCustom && path.includes('/namespaces//')))
    ? namespace
    : undefined

/**
 * Whether the path has a namespace that the resource does not take, or lacks one that it needs. (In the path of a
 * Namespace itself its name is also the namespace.)
 */
const isWrongScope = (definition: ResourceDefinition, info: RequestInfo): boolean =>
  definition.namespaced
    ? namespaceOf(info, definition) === undefined && info.parts.length > 1
    : info.namespace !== '' &&
      !(definition.gvk.kind === 'Namespace' && info.parts[1] === info.namespace)

/** Go's router lets a parameter (the namespace, the name) be an empty segment; an empty segment anywhere else matches no path. */
const hasStrayEmptySegment = ({ path, resource }: RequestInfo, isCustom: boolean): boolean => {
  if (!path.includes('//')) return false
  const rest = path.replace('/namespaces//', '/')
  return (isCustom ? rest : rest.replace(`/${resource}//`, '/')).includes('//')
}

const findDefinition = (info: RequestInfo, { table }: ApiDeps): ResourceDefinition | undefined => {
  const { apiGroup: group, apiVersion: version, resource } = info
  return info.isResourceRequest ? table.get({ group, version, resource }) : undefined
}

/** Throws what upstream answers where no resource is served. */
const mustBeServed = (
  definition: ResourceDefinition | undefined,
  info: RequestInfo,
  deps: ApiDeps,
): ResourceDefinition => {
  const { apiGroup: group } = info
  // `/api/v1/proxy/…` is still parsed as the verb `proxy`, but no longer served.
  const isFormerProxy = info.verb === 'proxy'
  if (
    definition === undefined ||
    isFormerProxy ||
    hasStrayEmptySegment(info, definition.isCustom)
  ) {
    const asked = info.isResourceRequest ? group : (info.path.split('/')[2] ?? '')
    const isLegacy = info.path.startsWith('/api/')
    if (!isLegacy && !groupIsBuiltIn(deps, asked)) throw pageNotFound()
    throw pathNotFound()
  }
  if (isWrongScope(definition, info)) throw definition.isCustom ? pageNotFound() : pathNotFound()
  return definition
}

/** Why an existing path does not take this method. */
const refusal = ({ definition, scope, handlers }: Route, info: RequestInfo): Error => {
  // Across namespaces custom resources can only be read (apiextensions, customresource_handler.go).
  if (definition.isCustom && scope === 'everywhere') return pageNotFound()
  if (definition.isCustom) return methodNotSupported(definition.gvr, info.verb)
  // A path without any method does not exist (`…/tokenreviews/NAME`, say).
  return handlers.size === 0 ? pathNotFound() : methodNotAllowed()
}

const scopeOf = (info: RequestInfo, definition: ResourceDefinition): Scope => {
  if (info.parts.length > 1) return 'object'
  return definition.namespaced && namespaceOf(info, definition) === undefined
    ? 'everywhere'
    : 'collection'
}

/** Throws where the resource has no such path. */
const makeRoute = (
  definition: ResourceDefinition,
  { scope, subresource, name }: { scope: Scope; subresource: string; name: string },
  { stores }: ApiDeps,
): Route => {
  const view = definition.subresources.find((s) => s.name === subresource)
  const isKnown =
    subresource === '' || view !== undefined || (subresource === 'status' && definition.hasStatus)
  if (!isKnown) throw definition.isCustom ? notFound(definition.gvr, name) : pathNotFound()
  const shape: Shape = { definition, scope, subresource, view }
  return { ...shape, store: stores.of(definition), handlers: handlersByMethod(shape) }
}

/** Routes are made at first use, and dropped with the row of their resource. */
const routeFinder = (deps: ApiDeps) => {
  const routes = new WeakMap<ResourceDefinition, Map<string, Route>>()
  return (info: RequestInfo, definition: ResourceDefinition): Route => {
    const { subresource, parts } = info
    const scope = scopeOf(info, definition)
    let known = routes.get(definition)
    if (known === undefined) {
      known = new Map()
      routes.set(definition, known)
    }
    const key = subresource === '' ? scope : `/${subresource}`
    let route = known.get(key)
    if (route === undefined) {
      route = makeRoute(definition, { scope, subresource, name: parts[1] ?? '' }, deps)
      known.set(key, route)
    }
    const goesOn = definition.isCustom || subresource === 'proxy'
    if (parts.length > 3 && !goesOn) throw pathNotFound()
    return route
  }
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
    const { apiGroup: group, resource } = info
    const found = findDefinition(info, deps)
    // Perhaps a custom resource that so far only another server knows of.
    return found === undefined && info.isResourceRequest && group !== ''
      ? lookAgain({ group, resource }).then(() =>
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
      if (!definition.verbs.includes('watch') || parts.length > 2) throw pathNotFound()
      // Upstream's handler of custom resources goes by the verb in the path alone.
      if (request.method !== 'GET' && !isCustom) throw methodNotAllowed()
      const store = deps.stores.of(definition)
      if (!isCustom) warnOfDeprecation(definition, request, reply, true)
      const target = { definition, store, subresource: '', view: undefined, namespace, name }
      return watchLegacy(target, request, reply, deps)
    }
    const route = findRoute(info, definition)
    const handler = route.handlers.get(request.method)
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
 * handlers find it in `bodyType`.
 */
const hideContentType = (app: FastifyInstance): void => {
  app.decorateRequest('bodyType', '')
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    request.bodyType = headers['content-type'] ?? ''
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

/** Upstream reads a body last, so that any other fault of the request is reported before its size. */
const refuseSizeLast = (handler: RouteHandlerMethod): RouteOptions['errorHandler'] =>
  function (error, request, reply) {
    if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') throw error
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
    app.route({ method: anyMethod, url, handler, errorHandler: refuseSizeLast(handler) })
  refuseUnknown(app, handler)
}
