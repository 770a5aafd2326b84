/** A field manager for each served version of each resource, made at first use. */
import { parseGroupVersion } from '#api/group-version.js'
import type { ResourceDefinition } from '../resource-definition.js'
import type { ResourceTable } from '../resource-table.js'
import { type FieldManager, makeFieldManager } from './field-manager.js'

export const makeFieldManagers = (
  table: Pick<ResourceTable, 'get'>,
): ((definition: ResourceDefinition) => FieldManager) => {
  // A changed custom resource definition is another row, and gets a field manager of its own.
  const managers = new WeakMap<ResourceDefinition, FieldManager>()
  return (definition) => {
    let manager = managers.get(definition)
    if (manager === undefined) {
      const { gvr, storagePrefix } = definition
      manager = makeFieldManager({
        definition,
        // Upstream converts within a group alone: whoever wrote an Event through the other one is forgotten.
        versionOf: (apiVersion) => {
          const version = parseGroupVersion(apiVersion)
          if (version?.group !== gvr.group) return undefined
          const found = table.get({ ...version, resource: gvr.resource })
          return found?.storagePrefix === storagePrefix ? found : undefined
        },
      })
      managers.set(definition, manager)
    }
    return manager
  }
}
