/** PUT of an object, its status, or a view of it. */
import type { KubeObject } from '#api/object.js'
import { othersTurn } from '#async/reading-phase.js'
import { dedupOwnerReferences } from '#registry/object-meta.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendShown } from '../answers/respond.js'
import { asSent } from '../answers/stored-json.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeBody, decodeScaleOfCustom } from '../decode-body.js'
import { checkIdentity } from '../identity.js'
import { makeContext } from '../request-context.js'
import { writeOptionsOf } from '../write-options.js'
import { definitionOfBody, hasTable, hooksOfView, ownersOfView, throughView } from './view.js'

export const updateObject: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store, view } = target
  const negotiated = negotiateOutput(request, definition, { table: hasTable(target) })
  const options = writeOptionsOf(request, 'UpdateOptions')
  const ctx = makeContext(target, request, reply, deps, options)
  const receive = (): KubeObject => {
    const body = definitionOfBody(target)
    const decode = definition.isCustom && body !== definition ? decodeScaleOfCustom : decodeBody
    const sent = decode(request, body, { ctx, table: deps.table, ...options })
    request.kube.audit?.sent(asSent(body, sent))
    checkIdentity(sent, target)
    dedupOwnerReferences(sent.metadata, ctx)
    return view === undefined ? (definition.convert?.toStorage(sent) ?? sent) : sent
  }
  let first: KubeObject | undefined = receive()
  const { uid } = first.metadata
  await othersTurn
  // A try may change its object, so tries after the first decode the body again.
  const next = (): KubeObject => {
    const object = first ?? receive()
    first = undefined
    return object
  }
  const owners = ownersOfView(target, ctx, deps, false)
  const change = owners === undefined ? next : throughView(target, owners, ctx, next)
  const { stored, created } = await store.update(ctx, target.name, change, {
    ...(uid ? { preconditions: { uid } } : {}),
    authorizeCreate: () => deps.authorizeCreate(request),
    ...hooksOfView(view),
    managedFieldsTracked: owners !== undefined,
  })
  const code = created ? 201 : 200
  return sendShown(target, request, reply, stored, { code, negotiated })
}
