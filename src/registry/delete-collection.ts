/** Collection deletes (deletion.md section 11): page by page, one object after the other, stopping at the first error. */
import { ApiError } from '#api/errors.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import type { DeleteOptions, RequestContext } from './resource-definition.js'
import type { Store } from './store.js'

type ListRequest = Parameters<Store['list']>[1]

export const deleteCollection = async (
  store: Pick<Store, 'list' | 'delete' | 'definition'>,
  ctx: RequestContext,
  options: DeleteOptions,
  request: ListRequest,
): Promise<ListPage> => {
  const hasLimit = request.limit > 0
  const items: StoredObject[] = []
  let first: ListPage | undefined
  let next: ListRequest = hasLimit
    ? request
    : { ...request, limit: limits.deleteCollectionPageLength }
  for (;;) {
    const page = await store.list(ctx, next)
    items.push(...page.items)
    await deletePage(store, ctx, options, page)
    if (hasLimit) return page
    first ??= page
    if (page.nextKey === undefined) return { ...first, items }
    next = {
      ...next,
      startKey: page.nextKey,
      consistency: { kind: 'exact', revision: page.revision },
    }
  }
}

const deletePage = async (
  store: Pick<Store, 'delete' | 'definition'>,
  ctx: RequestContext,
  options: DeleteOptions,
  page: ListPage,
): Promise<void> => {
  for (const { object } of page.items) {
    ctx.signal.throwIfAborted()
    const { name = '', namespace } = object.metadata
    try {
      await store.delete({ ...ctx, namespace, inCollection: true }, name, options)
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === 'NotFound')) throw error
    }
  }
}
