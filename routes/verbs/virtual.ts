/** POST to a resource that is answered and not stored: reviews of tokens, subjects and access. */
import type { KubeObject } from '#api/object.js'
import { receiveNewObject } from '#registry/before-create.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendObject } from '../answers/respond.js'
import { asSent } from '../answers/stored-json.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeBody, inputTypeOf } from '../decode-body.js'
import { makeContext } from '../request-context.js'
import { writeOptionsOf } from '../write-options.js'
import { trackNew } from './view.js'

export const createVirtual: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store } = target
  const negotiated = negotiateOutput(request, definition, { table: false })
  inputTypeOf(request)
  const options = writeOptionsOf(request, 'CreateOptions')
  const ctx = makeContext(target, request, reply, deps, options)
  const body = decodeBody(request, definition, { ctx, table: deps.table, ...options })
  request.kube.audit?.sent(asSent(definition, body))
  receiveNewObject(body, definition, ctx)
  const tracked = await trackNew(target, body, ctx, deps)
  const admit = await store.admitCreate(ctx, tracked.metadata.name ?? '', tracked)
  const object = await definition.strategy.createInstead!({ body: tracked, store, admit }, ctx)
  return sendObject(target, request, reply, object as KubeObject, { code: 201, negotiated })
}
