/** The empty object of a kind, as upstream's encoder writes it: what a bookmark carries around its version. */
import { formatGroupVersion } from '#api/group-version.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import { decodeType } from './decode.js'
import type { ResourceDefinition } from './resource-definition.js'

const emptyBodies = new WeakMap<ResourceDefinition, JsonObject>()

const emptyBody = (definition: ResourceDefinition): JsonObject => {
  let body = emptyBodies.get(definition)
  if (body === undefined) {
    body = definition.schemaName === undefined ? {} : decodeType(definition.schemaName, {}).value
    definition.strategy.completeEmpty?.(body)
    emptyBodies.set(definition, body)
  }
  return body
}

/** Its metadata may be replaced; all else is shared. */
export const emptyObject = (definition: ResourceDefinition): KubeObject => {
  const type = { kind: definition.gvk.kind, apiVersion: formatGroupVersion(definition.gvk) }
  // First in order, and last in what counts.
  return { ...type, metadata: {}, ...emptyBody(definition), ...type }
}
