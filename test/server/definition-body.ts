/** CustomResourceDefinitions, for clients, and their bodies. */
import type { ResourceRef } from '#client/resources.js'

export const definitions: ResourceRef = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
}

/** Served, and the one of storage unless `more` says otherwise. */
export const versionOf = (name: string, openAPIV3Schema: object, more: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
  ...more,
})

/** The schema of an object whose fields are texts. */
export const textsOf = (fields: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
})

interface DefinitionSpec {
  readonly group: string
  readonly scope: 'Cluster' | 'Namespaced'
  readonly names: { readonly plural: string; readonly kind: string }
  readonly versions: readonly object[]
}

/** Its name is made of its names. */
export const definitionOf = <S extends DefinitionSpec>(spec: S) => ({
  metadata: { name: `${spec.names.plural}.${spec.group}` },
  spec,
})
