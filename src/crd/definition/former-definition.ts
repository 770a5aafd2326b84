/**
 * A definition in v1beta1, as upstream stores it: what all versions share is moved to the top, and what a webhook says
 * into the conversion (apiextensions, v1/conversion.go).
 */
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
