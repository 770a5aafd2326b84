/** GET of a collection: a list, or a watch when the query says so. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, expired } from '#api/errors.js'
import type { ListMeta } from '#api/object.js'
import type { ListPage, Selection } from '#cacher/object-storage.js'
import { encodeContinue } from '#registry/continue-token.js'
import { hasCache } from '#registry/interpret-storage-error.js'
import {
  decodeListOptions,
  type ListPosition,
  type ListRequest,
  listPosition,
} from '#registry/list-options.js'
import { Query } from '#registry/query.js'
import { knownFields, makeSelection } from '#registry/selection.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendList } from '../answers/send-list.js'
import type { Target, VerbHandler } from '../api-deps.js'
import { serveWatch, type WatchCall } from './watch.js'

const continueExpiredText =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'

/** When the revision of a page is compacted, the 410 carries a token that continues at the newest state. */
export const withInconsistentContinue = (
  error: unknown,
  startKey: string | undefined,
  prefix: string,
): unknown => {
  if (!(error instanceof ApiError && error.reason === 'Expired') || startKey === undefined)
    return error
  const refusal = expired(continueExpiredText)
  refusal.status.metadata = { continue: encodeContinue({ revision: -1, startKey }, prefix) }
  return refusal
}

/** Unconverted lists of custom resources always have `continue`, even if empty. */
export const listMetaOf = (
  { definition }: Target,
  page: ListPage,
  { prefix, isConverted }: { prefix: string; isConverted: boolean },
): ListMeta => {
  const { revision, nextKey, remaining } = page
  const metadata: ListMeta = {}
  // Objects that are computed for each reader have no revision.
  if (revision !== 0) metadata.resourceVersion = String(revision)
  if (nextKey !== undefined) {
    // Keys in tokens of upstream's watch cache begin with a slash, those of its storage do not.
    const before = hasCache(definition.gvr) ? prefix.slice(0, -1) : prefix
    metadata.continue = encodeContinue({ revision, startKey: nextKey }, before)
    if (remaining !== undefined) metadata.remainingItemCount = remaining
  } else if (definition.isCustom && !isConverted) metadata.continue = ''
  return metadata
}

export const selectionOf = (target: Target, options: ListRequest, name?: string): Selection => {
  const { key, ...selection } = makeSelection({
    definition: target.definition,
    namespace: target.namespace,
    labels: options.labels,
    fields: knownFields(target.definition, options.fields),
    ...(name === undefined ? {} : { name }),
  })
  // With a continue token it is a list of a range, even if only one name can match (apiserver, selection_predicate.go
  // MatchesSingle).
  return key === undefined || options.continueToken !== '' ? selection : { ...selection, key }
}

/** Not an async function: it would hold its variables for as long as a watch lasts. */
export const listObjects: VerbHandler = (target, request, reply, deps) => {
  const negotiated = negotiateOutput(request, target.definition, { collection: true })
  const query = new Query(request.url)
  const options = decodeListOptions(query)
  const selection = selectionOf(target, options)
  const call = { deps, negotiated, options, selection }
  return options.watch
    ? serveWatch(target, request, reply, { ...call, includeObject: query.text('includeObject') })
    : serveList(target, request, reply, call)
}

const serveList = async (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  { negotiated, options, selection }: Pick<WatchCall, 'negotiated' | 'options' | 'selection'>,
): Promise<void> => {
  const { prefix } = selection
  const position: ListPosition = target.definition.isNeverStored
    ? { consistency: { kind: 'consistent' }, limit: options.limit }
    : listPosition(options, selection, target.definition.gvr)
  let page: ListPage
  try {
    const listed = target.store.list({ selection, ...position })
    // No await where there is nothing to wait for: others would run in between and fill the processor's cache.
    page = listed instanceof Promise ? await listed : listed
  } catch (error) {
    throw withInconsistentContinue(error, position.startKey, prefix)
  }
  const metadata = listMetaOf(target, page, {
    prefix,
    isConverted: negotiated.convert !== undefined,
  })
  return sendList(target, request, reply, { page, metadata }, negotiated)
}
