/** Validation of a CustomResourceDefinition in upstream's order (apiextensions, pkg/apis/apiextensions/validation). */
import { isConditionTrue } from '#api/conditions.js'
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import { dnsSubdomainName, isDns1035Label, isDns1123Subdomain } from '#api/names.js'
import { pushAll } from '#collections/push-all.js'
import { unprintable } from '#go/quote.js'
import { jsonEqual } from '#json/object.js'
import { hasDefaults } from '../apply-defaults.js'
import { validateRules } from '../rules/validate-rules.js'
import type { StructuralSchema } from '../structural-schema.js'
import { approvalAnnotation, approvalNeeded, approvalOf, isProtectedGroup } from './api-approval.js'
import {
  type CustomResourceDefinition,
  type DefinitionVersion,
  schemaOf,
  sharedByVersions,
  type VersionPart,
} from './definition.js'
import { internalVersions } from './internal-versions.js'
import { validateRootWithStatus } from './root-schema.js'
import { validateConversion } from './validate-conversion.js'
import { validateDefaultValues } from './validate-default-values.js'
import { validateWantedNames } from './validate-names.js'
import { validateColumn, validateSelectableFields, validateSubresources } from './validate-parts.js'
import { validateStructure } from './validate-structure.js'
import { validateWords, withoutStructuralForm } from './validate-words.js'

/** Everything that a create checks besides metadata. */
export const validateDefinition = (definition: CustomResourceDefinition): FieldError[] => [
  ...validateSpec(definition),
  ...validateStoredVersions(definition),
  ...validateApproval(definition),
  ...validatePreservation(definition),
]

const preservation = 'spec.preserveUnknownFields'

const validatePreservation = ({ spec }: CustomResourceDefinition): FieldError[] =>
  spec.preserveUnknownFields === true
    ? [
        invalid(
          preservation,
          true,
          'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
        ),
      ]
    : []

export const nameProblems = (
  name: string,
  prefix: boolean,
  { spec: { names, group } }: CustomResourceDefinition,
): string[] => [
  ...dnsSubdomainName(name, prefix),
  ...(name === `${names.plural}.${group}` ? [] : ['must be spec.names.plural+"."+spec.group']),
]

const validateSpec = (
  definition: CustomResourceDefinition,
  previous?: CustomResourceDefinition,
): FieldError[] => {
  const { spec } = definition
  const errors = [...validateGroup(spec.group)]
  if (!spec.scope) errors.push(required('spec.scope'))
  else if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced')
    errors.push(notSupported('spec.scope', spec.scope, ['Cluster', 'Namespaced']))
  const versions = spec.versions ?? []
  for (const [i, version] of versions.entries())
    if (version.schema?.openAPIV3Schema === undefined)
      errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`))
  const keepsUnknown = spec.preserveUnknownFields === true
  if (keepsUnknown && versions.some((version) => hasDefaults(schemaOf(version))))
    errors.push(invalid(preservation, true, 'must be false in order to use defaults in the schema'))
  const parts = partsOf(versions, previous?.spec.versions ?? [])
  for (const [i, version] of versions.entries())
    pushAll(errors, [...validateVersion(version, i), ...parts.ofVersion(version, i)])
  errors.push(...validateVersionList(spec.versions))
  errors.push(...validateWantedNames(spec.names))
  pushAll(errors, parts.shared())
  const strategy = spec.conversion?.strategy ?? 'None'
  if (keepsUnknown && strategy !== 'None')
    errors.push(
      invalid('spec.conversion.strategy', strategy, `must be None if ${preservation} is true`),
    )
  pushAll(errors, validateConversion(definition, previous))
  return errors
}

const validateGroup = (group: string): FieldError[] => {
  if (!group) return [required('spec.group')]
  const wrong = isDns1123Subdomain(group)
  if (wrong.length > 0) return [invalid('spec.group', group, wrong.join(','))]
  return group.split('.').length < 2
    ? [invalid('spec.group', group, 'should be a domain with at least one dot')]
    : []
}

const validateVersion = (version: DefinitionVersion, i: number): FieldError[] => {
  const wrong = isDns1035Label(version.name)
  return [
    ...(wrong.length > 0
      ? [invalid(`spec.versions[${i}].name`, version.name, wrong.join(','))]
      : []),
    ...validateDeprecation(version, `spec.versions[${i}].deprecationWarning`).map(shownAsJson),
  ]
}

const validateVersionList = (given: readonly DefinitionVersion[] | null): FieldError[] => {
  const versions = given ?? []
  const errors: FieldError[] = []
  const refuse = (why: string) =>
    errors.push(invalid('spec.versions', given && internalVersions(given), why))
  if (new Set(versions.map((v) => v.name)).size !== versions.length)
    refuse('must contain unique version names')
  if (versions.filter((v) => v.storage).length !== 1)
    refuse('must have exactly one version marked as storage version')
  const first = versions[0]?.name ?? ''
  const wrong = first === '' ? [] : isDns1035Label(first)
  if (wrong.length > 0) errors.push(invalid('spec.version', first, wrong.join(',')))
  return errors
}

const validateDeprecation = (version: DefinitionVersion, path: string): FieldError[] => {
  const text = version.deprecationWarning
  if (text === undefined) return []
  if (!version.deprecated) return [invalid(path, text, 'can only be set for deprecated versions')]
  const errors: FieldError[] = []
  if (Buffer.byteLength(text) > 256)
    errors.push(invalid(path, text, 'must be <= 256 characters long'))
  if (text.length === 0) errors.push(invalid(path, text, 'must not be an empty string'))
  const bad = unprintable.exec(text)
  if (bad !== null) {
    const at = Buffer.byteLength(text.slice(0, bad.index))
    const why = `must only contain printable UTF-8 characters; non-printable character found at index ${at}`
    errors.push(invalid(path, text, why))
  }
  return errors
}

const partNames: readonly { part: VersionPart; topName: string }[] = [
  { part: 'schema', topName: 'validation' },
  { part: 'subresources', topName: 'subresources' },
  { part: 'additionalPrinterColumns', topName: 'additionalPrinterColumns' },
  { part: 'selectableFields', topName: 'selectableFields' },
]

const hasStatus = ({ subresources }: DefinitionVersion): boolean =>
  subresources?.status !== undefined && subresources.status !== null

/** Parts that all versions share are checked once, at the top; others with their version. */
const partsOf = (
  versions: readonly DefinitionVersion[],
  previous: readonly DefinitionVersion[],
) => {
  const isShared = sharedByVersions(versions)
  // Of two of one name the first one counts.
  const known = new Map(previous.toReversed().map((version) => [version.name, version]))
  const validate = (
    part: VersionPart,
    version: DefinitionVersion,
    path: string,
    isBesideStatus: boolean,
  ): FieldError[] => {
    const before = known.get(version.name)
    switch (part) {
      case 'schema': {
        const schema = version.schema?.openAPIV3Schema
        if (schema === undefined) return []
        const isUnchanged = jsonEqual(schema, before?.schema?.openAPIV3Schema)
        return validateSchema(schema, child(path, 'openAPIV3Schema'), {
          isBesideStatus,
          isUnchanged,
        })
      }
      case 'subresources':
        return validateSubresources(version, path)
      case 'additionalPrinterColumns':
        return (version.additionalPrinterColumns ?? []).flatMap((c, i) =>
          validateColumn(c, index(path, i)),
        )
      case 'selectableFields':
        return validateSelectableFields(version, path, {
          before: before?.selectableFields,
          isTop: isShared('selectableFields'),
          isBesideSchema: isShared('selectableFields') === isShared('schema'),
        })
    }
  }
  const own = partNames.filter(({ part }) => !isShared(part))
  return {
    ofVersion: (version: DefinitionVersion, i: number): FieldError[] =>
      own.flatMap(({ part }) =>
        validate(part, version, `spec.versions[${i}].${part}`, hasStatus(version)),
      ),
    shared: (): FieldError[] =>
      versions.length === 0
        ? []
        : partNames
            .filter((one) => !own.includes(one))
            .flatMap(({ part, topName }) =>
              validate(part, versions[0]!, child('spec', topName), versions.some(hasStatus)),
            ),
  }
}

/** The schema of one version; `path` ends in openAPIV3Schema. What an update leaves alone keeps its costs. */
const validateSchema = (
  schema: StructuralSchema,
  path: string,
  { isBesideStatus, isUnchanged }: { isBesideStatus: boolean; isUnchanged: boolean },
): FieldError[] => {
  const errors = isBesideStatus ? validateRootWithStatus(schema, path) : []
  if (schema.nullable === true)
    errors.push(forbidden(child(path, 'nullable'), 'nullable cannot be true at the root'))
  const formless = withoutStructuralForm(schema)
  let structure: FieldError[] = []
  if (formless === undefined) {
    structure = validateStructure(schema, path)
    if (structure.length === 0) structure = validateDefaultValues(schema, path)
  }
  pushAll(errors, structure)
  const words = validateWords(schema, path)
  pushAll(errors, words.errors)
  if (formless === undefined && structure.length === 0)
    pushAll(errors, validateRules(schema, path, { broken: words.broken, isUnchanged }))
  return errors.length === 0 && formless !== undefined ? [invalid(path, '', formless)] : errors
}

const validateStoredVersions = ({ spec, status }: CustomResourceDefinition): FieldError[] => {
  const stored = status?.storedVersions ?? []
  const at = 'status.storedVersions'
  if (stored.length === 0) return [invalid(at, null, 'must have at least one stored version')]
  const errors: FieldError[] = []
  const unseen = new Map(stored.map((name, i) => [name, i]))
  // A version that stands there twice is found once: upstream crosses names out.
  for (const { name, storage } of spec.versions ?? []) {
    if (storage && !unseen.has(name))
      errors.push(invalid(at, stored, `must have the storage version ${name}`))
    unseen.delete(name)
  }
  for (const [name, i] of unseen)
    errors.push(
      invalid(
        index(at, i),
        name,
        `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
      ),
    )
  return errors
}

/** An update is checked only if its answer is a new one. */
const validateApproval = (
  next: CustomResourceDefinition,
  previous?: CustomResourceDefinition,
): FieldError[] => {
  if (!isProtectedGroup(next.spec.group)) return []
  const approval = approvalOf(next)
  if (previous !== undefined && approval === approvalOf(previous)) return []
  const at = index('metadata.annotations', approvalAnnotation)
  if (approval === 'missing') return [required(at, approvalNeeded.missing)]
  if (approval !== 'invalid') return []
  const value = next.metadata.annotations![approvalAnnotation]
  return [invalid(at, value, approvalNeeded.invalid)]
}

/** What may not change; and the usual checks, less strict where the old definition did not pass them either. */
export const validateDefinitionUpdate = (
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition,
): FieldError[] => {
  const errors = validateSpec(next, previous)
  const immutable = (path: string, now: unknown, old: unknown) => {
    if (now !== old) errors.push(invalid(path, now, 'field is immutable'))
  }
  if (isConditionTrue(previous, 'Established')) {
    immutable('spec.scope', next.spec.scope, previous.spec.scope)
    immutable('spec.names.kind', next.spec.names.kind, previous.spec.names.kind)
  }
  immutable('spec.group', next.spec.group, previous.spec.group)
  immutable('spec.names.plural', next.spec.names.plural, previous.spec.names.plural)
  return [
    ...errors,
    ...validateStoredVersions(next),
    ...validateApproval(next, previous),
    ...validatePreservation(next),
  ]
}
