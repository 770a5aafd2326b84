/**
 * The routes of a resource: which handler takes which method on which of its paths (apiserver, endpoints/installer.go), and
 * the refusal of a request for which there is none.
 */
import {
  badRequest,
  methodNotAllowed,
  methodNotSupported,
  notFound,
  pathNotFound,
} from '#api/errors.js'
import { PlainTextError } from '#api/plain-text-error.js'
import type { RequestInfo } from '#api/request-info.js'
import type { ResourceDefinition, Subresource, Verb } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import type { ApiDeps, VerbHandler } from './api-deps.js'
import { connect } from './connect/connect.js'
import { createObject } from './verbs/create.js'
import { deleteObject } from './verbs/delete.js'
import { deleteObjects } from './verbs/delete-collection.js'
import { getObject } from './verbs/get.js'
import { listObjects } from './verbs/list.js'
import { patchObject, patchTypeOf } from './verbs/patch.js'
import { createThroughSubresource } from './verbs/subresource.js'
import { updateObject } from './verbs/update.js'
import { createVirtual } from './verbs/virtual.js'

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

const groupIsBuiltIn = ({ table }: ApiDeps, group: string): boolean => {
  for (const { gvr, isCustom } of table) if (gvr.group === group && !isCustom) return true
  return false
}

/** Upstream's server of custom resources is the last in the chain: it answers unknown paths with text, not a Status. */
const pageNotFound = (): PlainTextError => new PlainTextError(404, '404 page not found\n')

/** Undefined for a path without a namespace; '' where its segment is empty, which custom resources take for none. */
export const namespaceOf = (
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
    ? namespaceOf(info, definition) === undefined &&
      info.parts.length > 1 &&
      // Custom resources can be watched by name across namespaces.
      !(definition.isCustom && info.verb === 'watch')
    : info.namespace !== '' &&
      !(definition.gvk.kind === 'Namespace' && info.parts[1] === info.namespace)

/** Go's router lets a parameter (the namespace, the name) be an empty segment; an empty segment anywhere else matches no path. */
const hasStrayEmptySegment = ({ path, resource }: RequestInfo, isCustom: boolean): boolean => {
  if (!path.includes('//')) return false
  const rest = path.replace('/namespaces//', '/')
  return (isCustom ? rest : rest.replace(`/${resource}//`, '/')).includes('//')
}

/** `/api/v1/proxy/…` is still parsed as the verb `proxy`, but no longer served. */
export const isFormerProxy = ({ verb }: RequestInfo): boolean => verb === 'proxy'

/** Throws what upstream answers where no resource is served. */
export const mustBeServed = (
  definition: ResourceDefinition | undefined,
  info: RequestInfo,
  deps: ApiDeps,
): ResourceDefinition => {
  const { apiGroup: group } = info
  if (
    definition === undefined ||
    (isFormerProxy(info) && !definition.isCustom) ||
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
export const refusal = ({ definition, scope, handlers }: Route, info: RequestInfo): Error => {
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
export const routeFinder = (deps: ApiDeps) => {
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
