/** Puts the generic store of one resource together (apiserver, pkg/registry/generic/registry/store.go). */
import { StorageError } from '#storage/driver.js'
import { admitAll } from './admission.js'
import { create } from './create.js'
import { deleteGenerically, makeDeletable } from './delete.js'
import { deleteCollection } from './delete-collection.js'
import { failingWatch } from './failing-watch.js'
import { hasCache, interpretingErrors } from './interpret-storage-error.js'
import type { Store } from './store.js'
import { admit, keyOf, readStored, type StoreDeps } from './store-base.js'
import { update } from './update.js'

export const makeStore = (deps: StoreDeps): Store => {
  const { definition, storage } = deps
  const { shownSince = 0 } = definition
  const deletable = makeDeletable(deps)
  /** Mutating admission now; yields validating admission, which the caller runs later. */
  const admitAlone = async (call: Parameters<typeof admit>[2]) => {
    await admit(deps, 'mutate', call)
    return () => admit(deps, 'validate', call)
  }
  const store: Store = {
    definition,
    atHand: storage.atHand,
    lastChange: storage.lastChange,
    key: (namespace, name) => keyOf(definition, namespace, name),
    get: (ctx, name, consistency) => readStored(deps, ctx, name, consistency),
    list: (options) => {
      const { consistency, selection, limit } = options
      // Upstream's cache leaves one object of a version to the storage behind it.
      const isOne = selection.key !== undefined && (consistency.kind === 'exact' || limit > 0)
      return interpretingErrors(() => storage.list(options), {
        resource: definition.gvr,
        operation: 'list',
        isCached: !isOne,
        asked: 'revision' in consistency ? consistency.revision : undefined,
      })
    },
    watch: (options) => {
      const { after, sendInitialEvents } = options
      const isGone = typeof after === 'number' && after < shownSince && sendInitialEvents !== true
      if (!isGone) return storage.watch(options)
      const message = 'the definition has changed since'
      return failingWatch(new StorageError('Compacted', message, { revision: shownSince }))
    },
    whenReached: (revision) =>
      hasCache(definition.gvr) ? storage.whenReached?.(revision) : undefined,
    notReady: () => storage.notReady?.(),
    create: (ctx, object) => create(deps, ctx, object),
    update: (ctx, name, change, options) => update(deps, ctx, name, change, options),
    delete: (ctx, name, options) => {
      const own = definition.strategy.delete
      return own === undefined
        ? deleteGenerically(deps, ctx, name, options)
        : own({ name, options: { ...options }, store: deletable }, ctx)
    },
    deleteAdmitted: (ctx, name, options) =>
      deleteGenerically({ ...deps, admission: admitAll }, ctx, name, options),
    changeStored: deletable.changeStored,
    admitCreate: (ctx, name, object) => admitAlone({ operation: 'CREATE', ctx, name, object }),
    admitConnect: async (ctx, name, object) => {
      const validate = await admitAlone({ operation: 'CONNECT', ctx, name, object })
      await validate()
    },
    // A collection goes past what a resource does with single deletes, as upstream's: it is the generic store's.
    deleteCollection: (ctx, options, request) =>
      deleteCollection({ ...store, delete: deletable.deleteGenerically }, ctx, options, request),
  }
  return store
}
