/** What the body of a subresource with a kind of its own is decoded as: a Scale, a Binding, an Eviction. */
import { schemaNameOfKind } from '#openapi/schemas.js'
import type { ResourceDefinition, Subresource } from './resource-definition.js'

const definitions = new WeakMap<Subresource, ResourceDefinition>()

/** The parent's definition where the kind is the parent's, else one of that kind without the parent's rules. */
export const bodyDefinition = (
  parent: ResourceDefinition,
  subresource: Subresource | undefined,
): ResourceDefinition => {
  if (subresource === undefined) return parent
  const { kind } = subresource
  if (kind.kind === parent.gvk.kind && kind.group === parent.gvk.group) return parent
  let body = definitions.get(subresource)
  if (body === undefined) {
    body = {
      ...parent,
      gvk: kind,
      schemaName: schemaNameOfKind(kind),
      strategy: subresource.default === undefined ? {} : { default: subresource.default },
      isCustom: false,
    }
    definitions.set(subresource, body)
  }
  return body
}
