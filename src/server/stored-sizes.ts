/** How much of each resource is stored, for /metrics. */
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { StoredSize } from '#routes/metrics/metric-families.js'
import type { RegistryStores } from './registry-stores.js'

/** What is stored in one place counts by its first name, and what cannot be listed is not stored. */
export const storedSizes = (
  table: Iterable<ResourceDefinition>,
  stores: Pick<RegistryStores, 'sizeOf'>,
): readonly StoredSize[] => {
  const sizes = new Map<string, StoredSize>()
  for (const row of table) {
    const { group, resource } = row.gvr
    if (sizes.has(row.storagePrefix) || !row.verbs.includes('list')) continue
    const size = stores.sizeOf(row)
    if (size !== undefined) sizes.set(row.storagePrefix, { group, resource, ...size })
  }
  return [...sizes.values()]
}
