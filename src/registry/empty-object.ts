/** The empty object of a kind, as upstream's encoder writes it: what a bookmark carries around its version. */
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import type { JsonObject } from '#json/value.js'
import { emptyOf } from './decode.js'
import type { ResourceDefinition } from './resource-definition.js'

const emptyBody = oncePerObject(({ schemaName, strategy }: ResourceDefinition): JsonObject => {
  const body = schemaName === undefined ? {} : emptyOf(schemaName)
  strategy.completeEmpty?.(body)
  return body
})

/** Callers may replace its metadata; everything else is shared. */
export const emptyObject = (definition: ResourceDefinition): KubeObject => {
  const type = { kind: definition.gvk.kind, apiVersion: formatGroupVersion(definition.gvk) }
  // `type` comes first, so that its fields are written first, and last, so that its values win.
  return { ...type, metadata: {}, ...emptyBody(definition), ...type }
}
