/** The empty object of a kind, as upstream's encoder writes it: what a bookmark carries around its version. */
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { ResourceDefinition } from './resource-definition.js'

export const emptyObject = (definition: ResourceDefinition): KubeObject => ({
  kind: definition.gvk.kind,
  apiVersion: formatGroupVersion(definition.gvk),
  metadata: {},
})
