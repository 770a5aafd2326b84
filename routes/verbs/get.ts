/** GET of one object, or of what a view subresource shows of it. */

import { badRequest } from '#api/errors.js'
import { whenKnown } from '#async/when-known.js'
import type { ReadConsistency, StoredObject } from '#cacher/object-storage.js'
import { requireVersion } from '#registry/list-options.js'
import { Query } from '#registry/query.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendShown } from '../answers/respond.js'
import type { Target, VerbHandler } from '../api-deps.js'
import { makeContext } from '../request-context.js'
import { hasTable } from './view.js'

const consistencyOf = (query: Query, { definition }: Target): ReadConsistency => {
  const text = query.text('resourceVersion')
  if (text === '' || definition.isNeverStored) return { kind: 'consistent' }
  const revision = requireVersion(text, definition.gvr)
  return revision === 0 ? { kind: 'any' } : { kind: 'notOlderThan', revision }
}

const refuseExport = (query: Query): void => {
  if (query.flag('export'))
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
}

/** Answers synchronously where it can: a promise would cost as much as the rest of a GET. */
export const getObject: VerbHandler = (target, request, reply, deps) => {
  const negotiated = negotiateOutput(request, target.definition, { table: hasTable(target) })
  const query = new Query(request.url)
  refuseExport(query)
  const ctx = makeContext(target, request, reply, deps)
  const send = (stored: StoredObject): void | Promise<void> => {
    const refused = target.view?.refuseRead?.(stored.object)
    if (refused !== undefined) throw refused
    return sendShown(target, request, reply, stored, { code: 200, negotiated })
  }
  return whenKnown(target.store.get(ctx, target.name, consistencyOf(query, target)), send)
}
