/** All objects of a resource, or of one namespace of it. */
import type { ListPage, ReadConsistency, Selection } from '#cacher/object-storage.js'
import { prefixOf } from './selection.js'
import type { Store } from './store.js'

export const selectAll = (
  { definition }: Pick<Store, 'definition'>,
  namespace?: string,
): Selection => ({
  prefix: prefixOf(definition, namespace),
})

export const listAll = (
  store: Pick<Store, 'definition' | 'list'>,
  namespace?: string,
  consistency: ReadConsistency = { kind: 'consistent' },
): ListPage | Promise<ListPage> =>
  store.list({ selection: selectAll(store, namespace), consistency, limit: 0 })
