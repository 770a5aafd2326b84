/** POST to a collection. */
import { Query } from '#registry/query.js'
import { checkWriteOptions } from '#registry/validate-options.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeBody, inputTypeOf } from '../decode-body.js'
import { negotiateOutput } from '../negotiation.js'
import { makeContext } from '../request-context.js'
import { sendStored } from '../respond.js'
import { decodeWriteOptions } from '../write-options.js'

export const createObject: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store } = target
  const negotiated = negotiateOutput(request.headers.accept, {
    collection: false,
    custom: definition.isCustom,
  })
  inputTypeOf(request)
  const options = decodeWriteOptions(new Query(request.raw.url ?? ''))
  checkWriteOptions('CreateOptions', options)
  const ctx = makeContext(target, request, reply, deps, options)
  const object = decodeBody(request, definition, { ctx, table: deps.table, ...options })
  const stored = await store.create(ctx, definition.convert?.toStorage(object) ?? object)
  return sendStored(target, request, reply, stored, { code: 201, negotiated })
}
