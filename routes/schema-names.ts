/** The schema of a kind, also of those that are no resource's own (Scale, Binding, Eviction). */

import type { GroupVersionKind } from '#api/group-version.js'
import { schemas } from '#openapi/schemas.js'

let names: Map<string, string> | undefined

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`

const namesByKind = (): Map<string, string> => {
  const found = new Map<string, string>()
  for (const [name, schema] of Object.entries(schemas()))
    for (const gvk of schema['x-kubernetes-group-version-kind'] ?? []) found.set(keyOf(gvk), name)
  return found
}

export const schemaNameOf = (gvk: GroupVersionKind): string | undefined => {
  names ??= namesByKind()
  return names.get(keyOf(gvk))
}
