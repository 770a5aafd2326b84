import type { GroupVersionKind } from '#api/group-version.js'
import { schemaNameOfKind } from '#openapi/schemas.js'

/** `io.k8s.api.apps.v1.Deployment`; for a custom kind its group in reverse, `com.example.v1.Widget`. */
export const schemaNameOf = (gvk: GroupVersionKind): string =>
  schemaNameOfKind(gvk) ?? [...gvk.group.split('.').reverse(), gvk.version, gvk.kind].join('.')
