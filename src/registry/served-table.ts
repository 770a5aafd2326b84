/** The resource table as requests see it: without rows that are stored but not served. */
import type { ResourceDefinition } from './resource-definition.js'
import type { ResourceTable } from './resource-table.js'

export const servedTable = (
  table: ResourceTable,
  isServed: (definition: ResourceDefinition) => boolean,
): ResourceTable => {
  const orNone = (row: ResourceDefinition | undefined) =>
    row !== undefined && isServed(row) ? row : undefined
  return {
    *[Symbol.iterator]() {
      for (const row of table) if (isServed(row)) yield row
    },
    get: (gvr) => orNone(table.get(gvr)),
    byKind: (gvk) => orNone(table.byKind(gvk)),
    ofResource: (resource) => orNone(table.ofResource(resource)),
    equivalentsOf: (definition) => table.equivalentsOf(definition).filter(isServed),
    add: (definition) => table.add(definition),
    remove: (gvr) => table.remove(gvr),
    onChange: (listener) => table.onChange(listener),
  }
}
