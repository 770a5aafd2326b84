/**
 * The versions of a definition as upstream prints them in messages: the JSON of its internal type (apiextensions, types.go),
 * where what all versions have alike has moved to the top.
 */
import { givenEmpty } from '#json/given-empty.js'
import type { JsonObject } from '#json/value.js'
import { type DefinitionVersion, sharedByVersions, type VersionPart } from './definition.js'
import { internalSchema } from './internal-schema.js'

type Part<P extends VersionPart> = NonNullable<DefinitionVersion[P]>

const validation = ({ openAPIV3Schema: schema }: Part<'schema'>): object => ({
  OpenAPIV3Schema: schema === undefined ? null : internalSchema(schema as JsonObject),
})

const subresources = ({ status, scale }: Part<'subresources'>): object => ({
  Status: status === undefined ? null : {},
  Scale:
    scale === undefined
      ? null
      : {
          SpecReplicasPath: scale.specReplicasPath ?? '',
          StatusReplicasPath: scale.statusReplicasPath ?? '',
          LabelSelectorPath: scale.labelSelectorPath ?? null,
        },
})

const columns = (all: Part<'additionalPrinterColumns'>): object[] =>
  all.map(({ name, type, format = '', description = '', priority = 0, jsonPath }) => ({
    Name: name,
    Type: type,
    Format: format,
    Description: description,
    Priority: priority,
    JSONPath: jsonPath,
  }))

const selectable = (fields: Part<'selectableFields'>): object[] =>
  fields.map(({ jsonPath }) => ({ JSONPath: jsonPath }))

export const internalVersions = (versions: readonly DefinitionVersion[]): object[] => {
  const isShared = sharedByVersions(versions)
  const own = <P extends VersionPart>(
    version: DefinitionVersion,
    part: P,
    print: (value: Part<P>) => object,
  ) => {
    const value = version[part] ?? (givenEmpty(version, part) as Part<P> | undefined)
    return isShared(part) || value === undefined ? null : print(value)
  }
  return versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: own(version, 'schema', validation),
    Subresources: own(version, 'subresources', subresources),
    AdditionalPrinterColumns: own(version, 'additionalPrinterColumns', columns),
    SelectableFields: own(version, 'selectableFields', selectable),
  }))
}
