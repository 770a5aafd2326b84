/** POST to a subresource that makes something: binding, eviction, token. */

import { notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { dedupOwnerReferences, matchNamespace } from '#registry/object-meta.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendObject } from '../answers/respond.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeBody, inputTypeOf } from '../decode-body.js'
import { makeContext } from '../request-context.js'
import { writeOptionsOf } from '../write-options.js'
import { definitionOfBody, trackNew } from './view.js'

export const createThroughSubresource: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store, view, name } = target
  const negotiated = negotiateOutput(request, definition, { table: false })
  if (view?.create === undefined) throw notFound(definition.gvr, name)
  inputTypeOf(request)
  const options = writeOptionsOf(request, 'CreateOptions')
  const ctx = makeContext(target, request, reply, deps, options)
  const body = decodeBody(request, definitionOfBody(target), {
    ctx,
    table: deps.table,
    accepted: view.acceptedApiVersions,
    ...options,
  })
  request.kube.audit?.sent(body)
  matchNamespace(body.metadata, definition, target.namespace)
  dedupOwnerReferences(body.metadata, ctx)
  const tracked = await trackNew(target, body, ctx, deps)
  const admit = await store.admitCreate(ctx, name, tracked)
  const { code, object } = await view.create({ name, body: tracked, store, admit }, ctx)
  return sendObject(target, request, reply, object as KubeObject, { code, negotiated })
}
