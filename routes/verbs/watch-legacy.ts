/** The old watch paths: `/api/v1/watch/namespaces/x/pods/y` is a watch, whatever its query says. */
import { badRequest } from '#api/errors.js'
import { decodeListOptions } from '#registry/list-options.js'
import { Query } from '#registry/query.js'
import { exactName } from '#registry/selection.js'
import { negotiateOutput } from '../answers/negotiation.js'
import type { VerbHandler } from '../api-deps.js'
import { selectionOf } from './list.js'
import { serveWatch } from './watch.js'

export const watchLegacy: VerbHandler = (target, request, reply, deps) => {
  const negotiated = negotiateOutput(request, target.definition, { collection: true })
  const query = new Query(request.url)
  const options = decodeListOptions(query, { watch: true })
  const { name } = target
  // Comes first: upstream reports an unknown field before one that does not fit the path.
  const selection = selectionOf(target, options, name === '' ? undefined : name)
  if (name !== '' && options.fields.length > 0 && exactName(options.fields) !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name")
  const includeObject = query.text('includeObject')
  return serveWatch(target, request, reply, { deps, negotiated, options, selection, includeObject })
}
