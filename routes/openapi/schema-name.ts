import type { GroupVersionKind } from '#api/group-version.js'
import { schemaNameOfKind, schemas } from '#openapi/schemas.js'

/**
 * `io.k8s.api.apps.v1.Deployment`; for a custom kind its group in reverse, `com.example.v1.Widget`. One that a built-in
 * schema has already is told apart as where upstream merges documents (kube-openapi, aggregator.go).
 */
export const schemaNameOf = (gvk: GroupVersionKind): string => {
  const builtIn = schemaNameOfKind(gvk)
  if (builtIn !== undefined) return builtIn
  const name = [...gvk.group.split('.').reverse(), gvk.version, gvk.kind].join('.')
  return Object.hasOwn(schemas(), name) ? `${name}_v2` : name
}
