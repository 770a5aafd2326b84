/** DELETE of what the query selects, with options of the body or the query (apiserver, handlers/delete.go DeleteCollection). */
import type { ListPage } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { decodeListOptions, listPosition } from '#registry/list-options.js'
import { Query } from '#registry/query.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendList } from '../answers/send-list.js'
import type { VerbHandler } from '../api-deps.js'
import { decodeDeleteOptions } from '../delete-options.js'
import { makeContext } from '../request-context.js'
import { warnOfDelete } from './delete-warnings.js'
import { listMetaOf, selectionOf, withInconsistentContinue } from './list.js'

export const deleteObjects: VerbHandler = async (target, request, reply, deps) => {
  const { definition, store } = target
  const negotiated = negotiateOutput(request, definition)
  const query = new Query(request.url)
  const list = decodeListOptions(query)
  const selection = selectionOf(target, list)
  const options = decodeDeleteOptions(request, query)
  const ctx = makeContext(target, request, reply, deps, { dryRun: options.dryRun ?? [] })
  warnOfDelete(definition, options, ctx)
  // Without a limit it also goes page by page. With a resourceVersion all pages are of exactly that version.
  const limit = list.limit || limits.deleteCollectionPageLength
  const position = listPosition({ ...list, limit }, selection, definition.gvr)
  let page: ListPage
  try {
    const isOnePage = list.limit > 0
    page = await store.deleteCollection(ctx, options, { selection, ...position, isOnePage })
  } catch (error) {
    throw withInconsistentContinue(error, position.startKey, selection.prefix)
  }
  const metadata = listMetaOf(target, page, {
    prefix: selection.prefix,
    isConverted: negotiated.convert !== undefined,
  })
  return sendList(target, request, reply, { page, metadata }, negotiated)
}
