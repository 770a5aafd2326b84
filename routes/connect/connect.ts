/**
 * log, exec, attach, portforward and proxy: passes requests on to a node or a Pod, or refuses them
 * (rest/subresources.go).
 */
import type { FastifyRequest } from 'fastify'
import { ApiError, badRequest, forbidden, pathNotFound } from '#api/errors.js'
import { Query } from '#registry/query.js'
import type { ApiDeps, Target, VerbHandler } from '../api-deps.js'
import { makeContext } from '../request-context.js'
import { connectOptionsOf } from './connect-options.js'
import type { Connection } from './connection.js'
import { log } from './log.js'
import { proxy } from './proxy.js'
import { portForward, session } from './session.js'

const connectors: Readonly<Record<string, (c: Connection) => Promise<unknown>>> = {
  log,
  exec: (c) => session(c, 'exec'),
  attach: (c) => session(c, 'attach'),
  portforward: portForward,
  proxy,
}

/**
 * A GET that opens a WebSocket does what a POST does, so the user must also be allowed to create
 * (core/pod/rest/authorize.go).
 */
const authorizeSession = async (
  { authorizeCreate }: ApiDeps,
  target: Target,
  request: FastifyRequest,
): Promise<void> => {
  if (request.kube.info.verb === 'create') return
  try {
    await authorizeCreate(request)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 403)) throw error
    throw forbidden(target.definition.gvr, target.name, '')
  }
}

export const connect: VerbHandler = async (target, request, reply, deps) => {
  const connector = connectors[target.subresource]
  if (!connector) throw pathNotFound()
  const query = new Query(request.url)
  const isSession = connector !== log && connector !== proxy
  if (connector !== log && query.has('dryRun')) throw badRequest('dryRun is not supported')
  const options = connectOptionsOf(target, query, request.kube.info)
  if (options !== undefined) {
    const ctx = makeContext(target, request, reply, deps)
    await target.store.admitConnect(ctx, target.name, options)
  }
  if (isSession) await authorizeSession(deps, target, request)
  return connector({ target, request, reply, deps, query })
}
