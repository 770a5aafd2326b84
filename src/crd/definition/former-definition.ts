/**
 * A definition in v1beta1, as upstream stores it: what all versions share is moved to the top, and what a webhook says
 * into the conversion (apiextensions, v1/conversion.go).
 */
import type { KubeObject } from '#api/object.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import type { CustomResourceDefinition, DefinitionVersion, VersionPart } from './definition.js'
import { isSharedByVersions } from './definition.js'

const partNames: Readonly<Record<VersionPart, string>> = {
  schema: 'validation',
  subresources: 'subresources',
  additionalPrinterColumns: 'additionalPrinterColumns',
  selectableFields: 'selectableFields',
}

export const formerDefinition = (definition: CustomResourceDefinition): object => {
  const { versions, conversion, ...spec } = definition.spec
  const moved: Record<string, unknown> = {}
  const kept: DefinitionVersion[] = versions.map((version) => ({ ...version }))
  for (const [part, name] of Object.entries(partNames) as [VersionPart, string][]) {
    if (!isSharedByVersions(versions, part)) continue
    moved[name] = versions[0]?.[part]
    for (const version of kept) delete version[part]
  }
  const { webhook, ...strategy } = conversion ?? {}
  return {
    ...definition,
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    spec: {
      preserveUnknownFields: false,
      ...spec,
      version: versions[0]?.name,
      versions: kept,
      ...moved,
      conversion: {
        ...strategy,
        webhookClientConfig: webhook?.clientConfig,
        conversionReviewVersions: webhook?.conversionReviewVersions,
      },
    },
  }
}

const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

const laterColumn = ({ JSONPath, ...column }: JsonObject): JsonObject =>
  JSONPath === undefined ? column : { ...column, jsonPath: JSONPath }

const laterConversion = (conversion: JsonObject): JsonObject => {
  const { webhookClientConfig: clientConfig, conversionReviewVersions, ...strategy } = conversion
  const webhook: JsonObject = {}
  if (isJsonObject(clientConfig)) webhook.clientConfig = clientConfig
  if (Array.isArray(conversionReviewVersions))
    webhook.conversionReviewVersions = conversionReviewVersions
  return Object.keys(webhook).length === 0 ? strategy : { ...strategy, webhook }
}

/** The other way: what stands at the top is of all versions. It has no versions where it was stored before there were any. */
export const fromFormerDefinition = (stored: KubeObject): KubeObject => {
  const { version: name, versions, conversion, ...former } = stored.spec as JsonObject
  const shared: JsonObject = {}
  for (const [part, place] of Object.entries(partNames)) {
    if ((former[place] ?? undefined) !== undefined) shared[part] = former[place]!
    delete former[place]
  }
  const listed = objectsIn(versions)
  if (listed.length === 0 && name !== undefined) listed.push({ name, served: true, storage: true })
  const spec = {
    ...former,
    // Nobody was asked for a schema, or held to it (apiextensions, v1beta1/defaults.go).
    preserveUnknownFields: former.preserveUnknownFields ?? true,
    versions: listed.map((version) => {
      const { additionalPrinterColumns: columns, ...whole } = { ...version, ...shared }
      const shown = objectsIn(columns).map(laterColumn)
      return shown.length === 0 ? whole : { ...whole, additionalPrinterColumns: shown }
    }),
    conversion: isJsonObject(conversion) ? laterConversion(conversion) : { strategy: 'None' },
  }
  return { ...stored, apiVersion: 'apiextensions.k8s.io/v1', spec }
}
