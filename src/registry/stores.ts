/** One store for each served version of each resource, made at first use. */
import type { GroupResource } from '#api/group-version.js'
import type { ObjectStorage } from '#cacher/object-storage.js'
import { makeStore } from './make-store.js'
import type { ResourceDefinition } from './resource-definition.js'
import type { ResourceTable } from './resource-table.js'
import type { Store } from './store.js'
import type { StoreDeps } from './store-base.js'

export interface Stores {
  of(definition: ResourceDefinition): Store
  /** The store of the version that storage holds; undefined for an unknown resource. */
  ofResource(resource: GroupResource): Store | undefined
}

interface StoresDeps extends Omit<StoreDeps, 'storage' | 'definition' | 'fieldManager'> {
  readonly table: ResourceTable
  /** The object storage under a prefix that ends in a slash. */
  readonly storageOf: (definition: ResourceDefinition) => ObjectStorage
  readonly fieldManagerOf: (definition: ResourceDefinition) => StoreDeps['fieldManager']
}

export const makeStores = ({ table, storageOf, fieldManagerOf, ...deps }: StoresDeps): Stores => {
  // A changed custom resource definition is another row, and gets a store of its own.
  const stores = new WeakMap<ResourceDefinition, Store>()
  const of = (definition: ResourceDefinition): Store => {
    let store = stores.get(definition)
    if (store === undefined) {
      const storage = storageOf(definition)
      store = makeStore({
        definition,
        storage,
        fieldManager: fieldManagerOf(definition),
        ...deps,
      })
      stores.set(definition, store)
      // Upstream makes the storage of all versions of a custom resource when one of them is asked for.
      if (definition.conversion !== undefined) table.equivalentsOf(definition).forEach(of)
    }
    return store
  }
  return {
    of,
    ofResource: (resource) => {
      const definition = table.ofResource(resource)
      return definition === undefined ? undefined : of(definition)
    },
  }
}
