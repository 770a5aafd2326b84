/** POST to a collection. */
import { othersTurn } from '#async/reading-phase.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendStored } from '../answers/respond.js'
import { asSent } from '../answers/stored-json.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeBody, inputTypeOf } from '../decode-body.js'
import { makeContext } from '../request-context.js'
import { writeOptionsOf } from '../write-options.js'

export const createObject: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store } = target
  const negotiated = negotiateOutput(request, definition)
  inputTypeOf(request)
  const options = writeOptionsOf(request, 'CreateOptions')
  const ctx = makeContext(target, request, reply, deps, options)
  await othersTurn
  const object = decodeBody(request, definition, { ctx, table: deps.table, ...options })
  request.kube.audit?.sent(asSent(definition, object))
  await othersTurn
  const stored = await store.create(ctx, definition.convert?.toStorage(object) ?? object)
  return sendStored(target, request, reply, stored, { code: 201, negotiated })
}
