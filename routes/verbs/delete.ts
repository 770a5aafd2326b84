/** DELETE of one object: options, then the store, then the right answer for the kind (apiserver, handlers/delete.go DeleteResource). */
import { resourceDetails } from '#api/errors.js'
import { deletedStatus } from '#api/status.js'
import { Query } from '#registry/query.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendStored, sendValue } from '../answers/respond.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeDeleteOptions } from '../delete-options.js'
import { makeContext } from '../request-context.js'
import { warnOfDelete } from './delete-warnings.js'

export const deleteObject: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store, name } = target
  const negotiated = negotiateOutput(request, definition)
  const options = decodeDeleteOptions(request, new Query(request.url))
  const ctx = makeContext(target, request, reply, deps, { dryRun: options.dryRun ?? [] })
  warnOfDelete(definition, options, ctx)
  const { stored, deleted, uid, isAnswer } = await store.delete(ctx, name, options)
  if (!deleted || isAnswer || definition.returnsDeletedObject) {
    // 202 only for this old option, because older clients take it for a failure (handlers/delete.go).
    const code = !deleted && options.orphanDependents === false ? 202 : 200
    return sendStored(target, request, reply, stored, { code, negotiated })
  }
  const details = {
    ...resourceDetails(definition.gvr, name),
    ...(uid === undefined ? {} : { uid }),
  }
  return sendValue(request, reply, deletedStatus(details), { code: 200, negotiated })
}
