/** A request for a connect subresource, and what it is about. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KubeObject } from '#api/object.js'
import type { Query } from '#registry/query.js'
import type { ApiDeps, Target } from '../api-deps.js'
import { makeContext } from '../request-context.js'

export interface Connection {
  readonly target: Target
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly deps: ApiDeps
  readonly query: Query
}

export const read = async (c: Connection, resource: string, name: string): Promise<KubeObject> => {
  const store = c.deps.stores.ofResource({ group: '', resource })!
  const ctx = makeContext({ ...c.target, store, subresource: '' }, c.request, c.reply, c.deps)
  const { namespaced } = store.definition
  return (await store.get(namespaced ? ctx : { ...ctx, namespace: undefined }, name)).object
}
