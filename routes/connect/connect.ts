/** log, exec, attach, portforward and proxy: what a node or a Pod answers, and why it is not asked (rest/subresources.go). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest, pathNotFound } from '#api/errors.js'
import type { ApiDeps, Target } from '../api-deps.js'
import { makeContext } from '../request-context.js'
import { connectOptionsOf } from './connect-options.js'
import type { ConnectDeps, Connection } from './connection.js'
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

export const makeConnect =
  (own: ConnectDeps, deps: ApiDeps) =>
  async (target: Target, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const connect = connectors[target.subresource]
    if (!connect) throw pathNotFound()
    const url = new URL(request.url, 'https://server')
    const query = url.searchParams
    if (connect !== log && query.has('dryRun')) throw badRequest('dryRun is not supported')
    const options = connectOptionsOf(target, url)
    if (options !== undefined) {
      const ctx = makeContext(target, request, reply, deps)
      await target.store.admitConnect(ctx, target.name, options)
    }
    return connect({ target, request, reply, deps, own, query })
  }
