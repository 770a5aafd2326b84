/** Collection deletes (apiserver, store.go DeleteCollection): in the order of the list, stopping at the first error. */

import { ApiError, badRequest } from '#api/errors.js'
import { Turn } from '#async/turns.js'
import type { ListOptions, ListPage, StoredObject } from '#cacher/object-storage.js'
import { copyWith } from '#json/copy-with.js'
import { limits } from '#limits'
import type { DeleteOptions, RequestContext } from './resource-definition.js'
import type { Store } from './store.js'

/**
 * What is answered has the metadata of its first page, as upstream's. The rest is read before anything is deleted: so many
 * deletes may push the revision of the list out of the history.
 */
export const deleteCollection = async (
  store: Pick<Store, 'list' | 'delete' | 'definition'>,
  ctx: RequestContext,
  options: DeleteOptions,
  { isOnePage, ...request }: Parameters<Store['deleteCollection']>[2],
): Promise<ListPage> => {
  const page = await store.list(request)
  const items = isOnePage
    ? page.items
    : [...page.items, ...(await itemsBehind(page, store, request))]
  await deleteItems(store, ctx, options, items)
  return { ...page, items }
}

const itemsBehind = async (
  { nextKey: startKey, revision }: ListPage,
  store: Pick<Store, 'list'>,
  request: ListOptions,
): Promise<readonly StoredObject[]> => {
  if (startKey === undefined) return []
  const consistency = { kind: 'exact', revision } as const
  return (await store.list({ ...request, startKey, limit: 0, consistency })).items
}

/**
 * Decides one object after the other; the next is begun as soon as the one before is about to be written. So nothing
 * behind a refused object is touched and revisions follow the order of the list, yet many removals share one commit.
 */
const deleteItems = async (
  store: Pick<Store, 'delete' | 'definition'>,
  ctx: RequestContext,
  options: DeleteOptions,
  items: readonly StoredObject[],
): Promise<void> => {
  // The segment of the namespace was empty: all are listed, and none is deleted (apiserver, store.go NamespaceKeyFunc).
  if (ctx.namespace === '' && store.definition.namespaced && items.length > 0)
    throw badRequest('Namespace parameter required.')
  const failures: unknown[] = []
  let writing: Promise<void>[] = []
  const turn = new Turn()
  for (const { object } of items) {
    if (turn.isOver) await turn.next()
    if (ctx.caller.signal.aborted || failures.length > 0) break
    await new Promise<void>((decided) => {
      const { namespace } = object.metadata
      const item = copyWith(ctx, { namespace, inCollection: { decided } })
      const done = deleteItem(store, item, object.metadata.name ?? '', options)
      writing.push(done.catch((error) => void failures.push(error)).then(decided))
    })
    if (writing.length < limits.deleteCollectionWritesMax) continue
    await Promise.all(writing)
    writing = []
  }
  await Promise.all(writing)
  if (failures.length > 0) throw failures[0]
  ctx.caller.signal.throwIfAborted()
}

const deleteItem = async (
  store: Pick<Store, 'delete'>,
  ctx: RequestContext,
  name: string,
  options: DeleteOptions,
): Promise<void> => {
  try {
    await store.delete(ctx, name, options)
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === 'NotFound')) throw error
  }
}
