/** Opens the storage and keeps one store for each served version of each resource of the table. */

import type { Clock } from '#api/clock.js'
import { formatGroupVersion } from '#api/group-version.js'
import { internalType } from '#api/internal-type.js'
import { makeCacher, type StoredSize } from '#cacher/cacher.js'
import type { ObjectStorage } from '#cacher/object-storage.js'
import { ConvertedStorage } from '#crd/converted-storage.js'
import { ShownStorage } from '#crd/shown-storage.js'
import { limits } from '#limits'
import type { Admission } from '#registry/admission.js'
import { storedValuesReader } from '#registry/decode/stored-values.js'
import { upstreamValueOf } from '#registry/encode/upstream-value.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import { randomIds } from '#registry/ids.js'
import { hasCache } from '#registry/interpret-storage-error.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import { makeStores, type Stores } from '#registry/stores.js'
import { backupText } from '#storage/backup.js'
import type { HealthQuestion, StorageDriver } from '#storage/driver.js'
import { EncryptedDriver, type Encryption } from '#storage/encrypted/encrypted-driver.js'
import { openStorage } from '#storage/open.js'
import {
  type Restored,
  restoreSnapshot,
  type StoreSnapshot,
  takeSnapshot,
} from '#storage/snapshot.js'
import { componentStatuses, componentStatusPrefix } from './component-statuses.js'
import { restoredObjects } from './restored-objects.js'

export interface RegistryStores extends Stores {
  health(question: HealthQuestion): Promise<string | undefined>
  /** Whether all objects of built-in resources can be read. Those that cannot are tried again. */
  areReadable(): boolean
  currentRevision(): number
  /** Stored objects and bytes of a resource; undefined for one that is computed when it is read. */
  sizeOf(definition: ResourceDefinition): StoredSize | undefined
  /** Whether other servers may use the same storage. */
  readonly isShared: boolean
  /**
   * Objects under a prefix that servers of one storage share and that no resource shows. Undefined if nobody shares it.
   */
  sharedStorage(prefix: string): ObjectStorage | undefined
  /** Everything there is, at one revision. */
  backupText(): AsyncIterable<string>
  takeSnapshot(): Promise<StoreSnapshot>
  /** Resolves when what it wrote can be read here. */
  restoreSnapshot(snapshot: StoreSnapshot): Promise<Restored>
  close(): Promise<void>
}

interface RegistryStoresOptions {
  /** A URL or an open driver; only what was opened here is closed here. */
  storage: string | StorageDriver
  table: ResourceTable
  admission: Admission
  encryption: Encryption | undefined
  fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  clock: Clock
  /** For lifetimes of stored objects and ages of history. */
  steadyClock: Clock
  log: (message: string, error?: unknown) => void
}

/** Upstream's Go type for objects of a resource. */
const goTypeName = ({ isCustom, gvk: { group, kind } }: ResourceDefinition): string =>
  isCustom ? '*unstructured.Unstructured' : `*${internalType(group, kind)}`

/** The storage of a resource: what the watch cache has of it, as its version shows it. */
const storagesOver = (cacher: Awaited<ReturnType<typeof makeCacher>>, driver: StorageDriver) => {
  const statuses = componentStatuses(() =>
    driver.health({ timeoutMs: limits.componentProbeTimeoutMs }),
  )
  const builtIn = new Set<ObjectStorage>()
  const storageOf = (definition: ResourceDefinition): ObjectStorage => {
    if (definition.storagePrefix === componentStatusPrefix) return statuses
    const prefix = `${definition.storagePrefix}/`
    const resource = cacher.forResource({
      prefix,
      fields: definition.selectableFields,
      typeName: goTypeName(definition),
      awaitsFuture: hasCache(definition.gvr),
    })
    if (!definition.isCustom) builtIn.add(resource)
    const { onRead, conversion } = definition
    const storage = onRead === undefined ? resource : new ShownStorage(resource, onRead)
    if (conversion === undefined) return storage
    const { gvk } = definition
    return new ConvertedStorage(storage, conversion, {
      prefix,
      typeName: `${formatGroupVersion(gvk)}, Kind=${gvk.kind}`,
    })
  }
  const areReadable = () => [...builtIn].every((storage) => storage.notReady?.() === undefined)
  return { storageOf, areReadable }
}

export const openRegistryStores = async (
  options: RegistryStoresOptions,
): Promise<RegistryStores> => {
  const { storage, table, admission, encryption, fieldManagerOf, clock, steadyClock, log } = options
  const driver =
    typeof storage === 'string' ? await openStorage(storage, { clock: steadyClock }) : storage
  const closeDriver = async (): Promise<void> => {
    if (typeof storage === 'string') await driver.close()
  }
  const readForeign = storedValuesReader(table)
  // Backups hold values as they are stored, encrypted or not.
  const shown = encryption === undefined ? driver : new EncryptedDriver(driver, encryption)
  const making = makeCacher({
    driver: shown,
    clock: steadyClock,
    log,
    readForeign,
    upstreamValueOf: upstreamValueOf(table),
  })
  const cacher = await making.catch(async (error) => {
    await closeDriver()
    throw error
  })
  const { storageOf, areReadable } = storagesOver(cacher, driver)
  const stores = makeStores({
    table,
    storageOf,
    fieldManagerOf,
    admission,
    clock,
    ids: randomIds,
  })
  return {
    ...stores,
    health: async (question) => (await driver.health(question)) ?? cacher.health(),
    areReadable,
    currentRevision: () => cacher.currentRevision(),
    sizeOf: (definition) => {
      const { storagePrefix: prefix } = definition
      if (prefix === componentStatusPrefix) return undefined
      // Makes the store, which counts the objects.
      stores.of(definition)
      return cacher.sizeOf(`${prefix}/`)
    },
    isShared: driver.shared,
    sharedStorage: (prefix) => (driver.shared ? cacher.forResource({ prefix }) : undefined),
    backupText: () => backupText(driver),
    takeSnapshot: () => takeSnapshot(shown),
    restoreSnapshot: async (snapshot) => {
      const objects = restoredObjects({ table, readForeign, clock })
      const restored = await restoreSnapshot(snapshot, shown, objects)
      await cacher.follow(restored.revision)
      return restored
    },
    close: async () => {
      await cacher.close()
      await closeDriver()
    },
  }
}
