/**
 * The resource table as routes: for each resource and each verb that it offers, one Fastify route with a shared handler
 * (apiserver, endpoints/installer.go). Fastify takes no routes after it listens, so custom resources, legacy watch
 * paths and everything that is refused go through a fixed set of parametric routes that look in the same table.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import {
  ApiError,
  methodNotAllowed,
  methodNotSupported,
  notFound,
  pathNotFound,
} from '#api/errors.js'
import { PlainTextError } from '#api/plain-text-error.js'
import type { RequestInfo } from '#api/request-info.js'
import type { ResourceDefinition, Subresource, Verb } from '#registry/resource-definition.js'
import type { ApiDeps, Target, VerbHandler } from './api-deps.js'
import { createObject } from './verbs/create.js'
import { deleteObject } from './verbs/delete.js'
import { deleteObjects } from './verbs/delete-collection.js'
import { getObject } from './verbs/get.js'
import { listObjects } from './verbs/list.js'
import { patchObject } from './verbs/patch.js'
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

/** Of a namespaced resource, the path without a namespace can only be read (deletion.md row 3). */
const handlersOf = (definition: ResourceDefinition, scope: Scope): Handlers => {
  if (scope === 'object') return objectHandlers
  if (scope === 'everywhere' && definition.namespaced)
    return definition.strategy.createEverywhere
      ? collectionHandlers
      : { GET: collectionHandlers.GET }
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

interface Route {
  readonly definition: ResourceDefinition
  readonly scope: Scope
  readonly subresource: string
  readonly view: Subresource | undefined
}

const verbsOfSubresource = ({ subresource, view }: Route): readonly Verb[] =>
  subresource === 'status' ? statusVerbs : (view?.verbs ?? [])

const targetOf = (
  route: Route,
  deps: ApiDeps,
  { namespace, name }: { namespace: string | undefined; name: string },
): Target => ({
  definition: route.definition,
  store: deps.stores.of(route.definition),
  subresource: route.subresource,
  view: route.view,
  namespace,
  name,
})

const methodsOf = (route: Route): string[] => {
  const { definition, scope, subresource, view } = route
  if (subresource === '')
    return Object.keys(handlersOf(definition, scope)).filter(
      (method) => handlerFor(definition, scope, method) !== undefined,
    )
  if (view?.style === 'connect')
    return Object.keys(connectVerbs).filter((method) => view.verbs.includes(connectVerbs[method]!))
  const verbs = verbsOfSubresource(route)
  return Object.keys(viewHandlers).filter((method) => verbs.includes(viewHandlers[method]!.verb))
}

const connect: VerbHandler = (target, request, reply, deps) => {
  if (deps.connect === undefined) throw pathNotFound()
  return deps.connect(target, request, reply)
}

const handle = (route: Route, method: string): VerbHandler | undefined => {
  const { definition, scope, subresource, view } = route
  if (subresource === '') return handlerFor(definition, scope, method)
  if (view?.style === 'connect')
    return connectVerbs[method] !== undefined && view.verbs.includes(connectVerbs[method])
      ? connect
      : undefined
  const found = viewHandlers[method]
  return found !== undefined && verbsOfSubresource(route).includes(found.verb)
    ? found.handler
    : undefined
}

/** What fails when its answer is on its way can only be told to the log. */
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
          report?.({ err: error, url: request.url }, 'the answer broke off')
      })
    : result

interface Params {
  namespace?: string
  name?: string
}

const install = (app: FastifyInstance, deps: ApiDeps, url: string, route: Route): void => {
  const methods = methodsOf(route)
  if (methods.length === 0) return
  const handlers = new Map(methods.map((method) => [method, handle(route, method)!]))
  app.route({
    method: methods as HTTPMethods[],
    url,
    handler: (request, reply) => {
      const { namespace, name = '' } = request.params as Params
      // A collection with a slash behind it matches the object's route.
      if (name === '' && route.scope === 'object') return serveByTable(request, reply, deps)
      const target = targetOf(route, deps, { namespace, name })
      const result = handlers.get(request.method)!(target, request, reply, deps)
      return watchLate(result, request, reply, deps)
    },
  })
}

const installResource = (
  app: FastifyInstance,
  deps: ApiDeps,
  definition: ResourceDefinition,
): void => {
  const { group, version, resource } = definition.gvr
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const base = definition.namespaced
    ? `${root}/namespaces/:namespace/${resource}`
    : `${root}/${resource}`
  const main = { definition, subresource: '', view: undefined }
  if (definition.namespaced)
    install(app, deps, `${root}/${resource}`, { ...main, scope: 'everywhere' })
  install(app, deps, base, { ...main, scope: 'collection' })
  install(app, deps, `${base}/:name`, { ...main, scope: 'object' })
  if (definition.hasStatus)
    install(app, deps, `${base}/:name/status`, {
      definition,
      scope: 'object',
      subresource: 'status',
      view: undefined,
    })
  for (const view of definition.subresources) {
    const route: Route = { definition, scope: 'object', subresource: view.name, view }
    install(app, deps, `${base}/:name/${view.name}`, route)
    if (view.style === 'connect' && view.name === 'proxy')
      install(app, deps, `${base}/:name/${view.name}/*`, route)
  }
}

const routeOfInfo = ({ kube }: FastifyRequest, definition: ResourceDefinition): Route => {
  const { info } = kube
  const { subresource, parts } = info
  const scope: Scope =
    parts.length > 1
      ? 'object'
      : info.namespace === '' && definition.namespaced
        ? 'everywhere'
        : 'collection'
  const view = definition.subresources.find((s) => s.name === subresource)
  if (
    subresource !== '' &&
    view === undefined &&
    !(subresource === 'status' && definition.hasStatus)
  )
    throw definition.isCustom ? notFound(definition.gvr, parts[1] ?? '') : pathNotFound()
  if (parts.length > 3 && view?.style !== 'connect') throw pathNotFound()
  return { definition, scope, subresource, view }
}

const groupIsBuiltIn = ({ table }: ApiDeps, group: string): boolean => {
  for (const { gvr, isCustom } of table) if (gvr.group === group && !isCustom) return true
  return false
}

/** What the server of custom resources hands on to nobody: text, not a Status. */
const pageNotFound = (): PlainTextError => new PlainTextError(404, '404 page not found\n')

/** Paths of the wrong scope do not exist. A namespace's own path counts as one inside of it. */
const isWrongScope = (
  definition: ResourceDefinition,
  { namespace, parts }: RequestInfo,
): boolean =>
  definition.namespaced
    ? namespace === '' && parts.length > 1
    : namespace !== '' && !(definition.gvk.kind === 'Namespace' && parts[1] === namespace)

/** What no route of its own serves: custom resources, legacy watches, and what is refused with a reason. */
const serveByTable = async (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ApiDeps,
): Promise<unknown> => {
  const { info } = request.kube
  const { apiGroup: group, apiVersion: version, resource, parts } = info
  if (info.isResourceRequest && parts.length === 1 && /^(?:proxy|watch)$/.test(resource))
    throw new PlainTextError(
      500,
      `Internal Server Error: ${JSON.stringify(info.path)}: failed to create RequestInfo: unable to determine kind and namespace from url, ${info.path}\n`,
    )
  const definition = info.isResourceRequest
    ? deps.table.get({ group, version, resource })
    : undefined
  if (definition === undefined || info.path.includes('//')) {
    const asked = info.isResourceRequest ? group : (info.path.split('/')[2] ?? '')
    const isLegacy = info.path.startsWith('/api/')
    if (!isLegacy && !groupIsBuiltIn(deps, asked)) throw pageNotFound()
    throw pathNotFound()
  }
  if (isWrongScope(definition, info)) throw definition.isCustom ? pageNotFound() : pathNotFound()
  const isLegacyWatch = info.verb === 'watch' && /\/watch\//.test(info.path)
  const namespace = definition.namespaced && info.namespace !== '' ? info.namespace : undefined
  if (isLegacyWatch) {
    if (request.method !== 'GET') throw methodNotAllowed()
    if (!definition.verbs.includes('watch') || info.parts.length > 2) throw pathNotFound()
    const route: Route = { definition, scope: 'collection', subresource: '', view: undefined }
    const target = targetOf(route, deps, { namespace, name: info.parts[1] ?? '' })
    return watchLegacy(target, request, reply, deps)
  }
  const route = routeOfInfo(request, definition)
  const handler = handle(route, request.method)
  if (handler === undefined) {
    // Custom resources have no route across namespaces but for reading (deletion.md, surprises).
    if (definition.isCustom && route.scope === 'everywhere')
      throw new PlainTextError(404, '404 page not found\n')
    if (definition.isCustom) throw methodNotSupported(definition.gvr, info.verb)
    // A path that takes no method at all is no path (one review, say).
    throw methodsOf(route).length === 0 ? pathNotFound() : methodNotAllowed()
  }
  const target = targetOf(route, deps, { namespace, name: info.parts[1] ?? '' })
  return handler(target, request, reply, deps)
}

const anyMethod: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Fastify judges the Content-Type by itself, before any handler, in words of its own. The handlers do that here: they find
 * the header as it came in `bodyType`.
 */
const hideContentType = (app: FastifyInstance): void => {
  app.decorateRequest('bodyType', '')
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    request.bodyType = headers['content-type'] ?? ''
    // Fastify refuses a QUERY without it.
    if (headers['content-type'] !== undefined || request.method === 'QUERY')
      headers['content-type'] = 'application/octet-stream'
    done()
  })
}

/** Registers every built-in resource of the table, and the routes for what is not in it yet. */
export const installApi = (app: FastifyInstance, deps: ApiDeps): void => {
  hideContentType(app)
  for (const definition of deps.table)
    if (!definition.isCustom) installResource(app, deps, definition)
  for (const url of ['/api/:version/*', '/apis/:group/:version/*'])
    app.route({
      method: anyMethod,
      url,
      handler: (request, reply) =>
        watchLate(serveByTable(request, reply, deps), request, reply, deps),
    })
}
