/** The resource of an object by the key under which it is stored. */
import type { GroupResource } from '#api/group-version.js'
import type { ResourceTable } from '#registry/resource-table.js'

/**
 * Keys begin with one or two folders below /registry/. Folders of no built-in resource are those of a custom one: its
 * group, which has a dot, and its name. So this works before its definition was read.
 */
export const resourceOfKeys = (
  table: Pick<ResourceTable, typeof Symbol.iterator>,
): ((key: string) => GroupResource | undefined) => {
  const builtIn = new Map<string, GroupResource>()
  // Events have two groups, and the configuration names them by the older one.
  for (const { gvr, storagePrefix, isCustom } of table)
    if (!isCustom && (gvr.group === '' || !builtIn.has(`${storagePrefix}/`)))
      builtIn.set(`${storagePrefix}/`, { group: gvr.group, resource: gvr.resource })
  return (key) => {
    const first = key.indexOf('/', '/registry/'.length) + 1
    const found = builtIn.get(key.slice(0, first))
    if (first === 0 || found !== undefined) return found
    const second = key.indexOf('/', first) + 1
    const inner = builtIn.get(key.slice(0, second))
    if (second === 0 || inner !== undefined) return inner
    const group = key.slice('/registry/'.length, first - 1)
    const resource = key.slice(first, second - 1)
    return group.includes('.') ? { group, resource } : undefined
  }
}
