/** Opens the storage and keeps one store for each resource of the table. */
import type { Clock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import { type Cacher, makeCacher } from '#cacher/cacher.js'
import type { Admission } from '#registry/admission.js'
import { randomIds } from '#registry/ids.js'
import { makeStore } from '#registry/make-store.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'

export interface RegistryStores {
  /** The store of the version that storage holds; undefined for an unknown resource. */
  of(resource: GroupResource): Store | undefined
  health(): string | undefined
  currentRevision(): number
  close(): Promise<void>
}

export interface RegistryStoresOptions {
  /** A URL or an open driver; only what was opened here is closed here. */
  storage: string | StorageDriver
  table: ResourceTable
  admission: Admission
  clock: Clock
  log: (message: string, error?: unknown) => void
}

const slashed = (definition: ResourceDefinition): string => `${definition.storagePrefix}/`

export const openRegistryStores = async (
  options: RegistryStoresOptions,
): Promise<RegistryStores> => {
  const { storage, table, admission, clock, log } = options
  const driver = typeof storage === 'string' ? await openStorage(storage, { clock }) : storage
  const cacher: Cacher = await makeCacher({ driver, clock, log })
  const stores = new Map<string, { definition: ResourceDefinition; store: Store }>()
  const forget = table.onChange(({ definition: { gvr } }) => {
    stores.delete(`${gvr.group}/${gvr.resource}`)
  })
  const of = ({ group, resource }: GroupResource): Store | undefined => {
    const key = `${group}/${resource}`
    const known = stores.get(key)
    if (known !== undefined) return known.store
    const definition = table.ofResource({ group, resource })
    if (definition === undefined) return undefined
    const store = makeStore({
      storage: cacher.forResource({
        prefix: slashed(definition),
        fields: definition.selectableFields,
      }),
      definition,
      admission,
      clock,
      ids: randomIds,
    })
    stores.set(key, { definition, store })
    return store
  }
  return {
    of,
    health: () => driver.health() ?? cacher.health(),
    currentRevision: () => cacher.currentRevision(),
    close: async () => {
      forget()
      await cacher.close()
      if (typeof storage === 'string') await driver.close()
    },
  }
}
