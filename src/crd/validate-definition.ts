/** Validation of a CustomResourceDefinition in upstream's order (apiextensions, pkg/apis/apiextensions/validation). */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1035Label, isDns1123Subdomain } from '#api/names.js'
import {
  type CustomResourceDefinition,
  type DefinitionNames,
  type DefinitionVersion,
  isSharedByVersions,
  isTrue,
  type PrinterColumn,
} from './definition.js'
import { validateRules } from './rules/validate-rules.js'
import type { StructuralSchema } from './structural-schema.js'
import { validateConversion } from './validate-conversion.js'
import { validateDefaultValues } from './validate-default-values.js'
import { validateStructure } from './validate-structure.js'
import { hasStructuralForm, validateWords } from './validate-words.js'

/** Everything that a create checks beside metadata. `isUpdate` looks at the stored state as well. */
export const validateDefinition = (definition: CustomResourceDefinition): FieldError[] => {
  const { spec, metadata } = definition
  const errors: FieldError[] = []
  if (metadata.name !== `${spec.names.plural}.${spec.group}`)
    errors.push(invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group'))
  errors.push(...validateSpec(definition))
  errors.push(...validateStoredVersions(definition))
  errors.push(...validateApproval(definition))
  return errors
}

const validateSpec = ({ spec }: CustomResourceDefinition): FieldError[] => {
  const errors = [...validateGroup(spec.group)]
  if (!spec.scope) errors.push(required('spec.scope'))
  else if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced')
    errors.push(notSupported('spec.scope', spec.scope, ['Cluster', 'Namespaced']))
  if (spec.preserveUnknownFields === true)
    errors.push(
      invalid(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    )
  const versions = spec.versions ?? []
  for (const [i, version] of versions.entries())
    if (version.schema?.openAPIV3Schema === undefined)
      errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`))
  errors.push(...validateVersionList(versions))
  errors.push(...validateNames(spec.names))
  errors.push(...validateVersionParts(versions))
  errors.push(...validateConversion(spec.conversion))
  return errors
}

const validateGroup = (group: string): FieldError[] => {
  if (!group) return [required('spec.group')]
  const wrong = isDns1123Subdomain(group)
  if (wrong.length > 0) return wrong.map((why) => invalid('spec.group', group, why))
  return group.split('.').length < 2
    ? [invalid('spec.group', group, 'should be a domain with at least one dot')]
    : []
}

// The internal form of a version: shared parts have moved to the top and show as null here.
const internalVersions = (versions: readonly DefinitionVersion[]): object[] => {
  const own = <
    P extends 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields',
  >(
    version: DefinitionVersion,
    part: P,
  ) => (isSharedByVersions(versions, part) ? null : (version[part] ?? null))
  return versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: own(version, 'schema'),
    Subresources: own(version, 'subresources'),
    AdditionalPrinterColumns: own(version, 'additionalPrinterColumns'),
    SelectableFields: own(version, 'selectableFields'),
  }))
}

const validateVersionList = (versions: readonly DefinitionVersion[]): FieldError[] => {
  const errors: FieldError[] = []
  for (const [i, version] of versions.entries()) {
    for (const why of isDns1035Label(version.name))
      errors.push(invalid(`spec.versions[${i}].name`, version.name, why))
    if (version.deprecationWarning !== undefined)
      errors.push(...validateDeprecation(version, `spec.versions[${i}].deprecationWarning`))
  }
  const whole = internalVersions(versions)
  if (new Set(versions.map((v) => v.name)).size !== versions.length)
    errors.push(invalid('spec.versions', whole, 'must contain unique version names'))
  if (versions.filter((v) => v.storage).length !== 1)
    errors.push(
      invalid('spec.versions', whole, 'must have exactly one version marked as storage version'),
    )
  const first = versions[0]?.name
  if (first)
    for (const why of isDns1035Label(first)) errors.push(invalid('spec.version', first, why))
  return errors
}

const validateDeprecation = (version: DefinitionVersion, path: string): FieldError[] => {
  const text = version.deprecationWarning!
  if (!version.deprecated) return [invalid(path, text, 'can only be set for deprecated versions')]
  if (text.length > 256) return [{ ...invalid(path, text, 'must be <= 256 characters long') }]
  if (text.length === 0) return [invalid(path, text, 'must not be an empty string')]
  // biome-ignore lint/suspicious/noControlCharactersInRegex: upstream refuses what does not print
  return /[\u0000-\u001f\u007f]/.test(text)
    ? [
        invalid(
          path,
          text,
          'must only contain printable UTF-8 characters; non-printable character found',
        ),
      ]
    : []
}

const mixedCase = (name: string): string[] =>
  isDns1035Label(name.toLowerCase()).map(
    (why) => `may have mixed case, but should otherwise match: ${why}`,
  )

const validateNames = (names: DefinitionNames): FieldError[] => {
  const errors: FieldError[] = []
  const at = (name: string) => `spec.names.${name}`
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names[name]) errors.push(required(at(name)))
  const check = (path: string, value: string | undefined, rule: (v: string) => string[]) => {
    if (value) for (const why of rule(value)) errors.push(invalid(path, value, why))
  }
  check(at('plural'), names.plural, isDns1035Label)
  check(at('singular'), names.singular, isDns1035Label)
  check(at('kind'), names.kind, mixedCase)
  check(at('listKind'), names.listKind, mixedCase)
  for (const list of ['shortNames', 'categories'] as const) {
    if (list === 'shortNames' && names.kind && names.kind === names.listKind)
      errors.push(invalid(at('listKind'), names.listKind, 'kind and listKind may not be the same'))
    for (const [i, name] of (names[list] ?? []).entries())
      for (const why of isDns1035Label(name)) errors.push(invalid(index(at(list), i), name, why))
  }
  return errors
}

const validateVersionParts = (versions: readonly DefinitionVersion[]): FieldError[] => {
  const errors: FieldError[] = []
  const each = (
    part: 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields',
    topName: string,
    validate: (version: DefinitionVersion, path: string) => FieldError[],
  ) => {
    if (versions.length === 0) return
    if (isSharedByVersions(versions, part)) {
      errors.push(...validate(versions[0]!, child('spec', topName)))
      return
    }
    for (const [i, version] of versions.entries())
      errors.push(...validate(version, `spec.versions[${i}].${part}`))
  }
  each('schema', 'validation', (version, path) => {
    const schema = version.schema?.openAPIV3Schema
    return schema === undefined ? [] : validateSchema(schema, child(path, 'openAPIV3Schema'))
  })
  each('subresources', 'subresources', validateSubresources)
  each('additionalPrinterColumns', 'additionalPrinterColumns', (version, path) =>
    (version.additionalPrinterColumns ?? []).flatMap((c, i) => validateColumn(c, index(path, i))),
  )
  each('selectableFields', 'selectableFields', validateSelectableFields)
  return errors
}

/** The schema of one version; `path` ends in openAPIV3Schema. */
const validateSchema = (schema: StructuralSchema, path: string): FieldError[] => {
  if (schema.nullable === true)
    return [forbidden(child(path, 'nullable'), 'nullable cannot be true at the root')]
  const words = validateWords(schema, path, { isRoot: true })
  // What has no structural form is only told what it may not say.
  const structure = hasStructuralForm(schema) ? validateStructure(schema, path) : []
  if (structure.length > 0 || words.length > 0) return [...structure, ...words]
  return [...validateRules(schema, path), ...validateDefaultValues(schema, path)]
}

const isPathUnder = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => path.startsWith(`${root}.`))

const noSimplePath = 'must be a simple json path starting with .'

const validateSubresources = (version: DefinitionVersion, path: string): FieldError[] => {
  const scale = version.subresources?.scale
  if (scale === undefined) return []
  const errors: FieldError[] = []
  const at = (name: string) => child(path, 'scale', name)
  const check = (name: 'specReplicasPath' | 'statusReplicasPath', root: string) => {
    const value = scale[name]
    if (!value) errors.push(required(at(name)))
    else if (!value.startsWith('.')) errors.push(invalid(at(name), value, noSimplePath))
    else if (!isPathUnder(value, [root]))
      errors.push(invalid(at(name), value, `should be a json path under ${root}`))
  }
  check('specReplicasPath', '.spec')
  check('statusReplicasPath', '.status')
  const selector = scale.labelSelectorPath
  if (selector && !selector.startsWith('.'))
    errors.push(invalid(at('labelSelectorPath'), selector, noSimplePath))
  else if (selector && !isPathUnder(selector, ['.spec', '.status']))
    errors.push(
      invalid(
        at('labelSelectorPath'),
        selector,
        'should be a json path under either .spec or .status',
      ),
    )
  return errors
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

const validateColumn = (column: PrinterColumn, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (!column.name) errors.push(required(child(path, 'name')))
  if (!column.type)
    errors.push(required(child(path, 'type'), `must be one of ${columnTypes.join(',')}`))
  else if (!columnTypes.includes(column.type))
    errors.push(
      invalid(child(path, 'type'), column.type, `must be one of ${columnTypes.join(',')}`),
    )
  if (column.format && !columnFormats.includes(column.format))
    errors.push(
      invalid(child(path, 'format'), column.format, `must be one of ${columnFormats.join(',')}`),
    )
  if (!column.jsonPath) errors.push(required(child(path, 'JSONPath')))
  else if (!column.jsonPath.startsWith('.'))
    errors.push(
      invalid(
        child(path, 'JSONPath'),
        column.jsonPath,
        'must be a simple json path starting with .',
      ),
    )
  return errors
}

/** The schema of a simple path such as `.spec.a`; undefined when it leads nowhere. */
const schemaAt = (schema: StructuralSchema, path: string): StructuralSchema | undefined => {
  let at: StructuralSchema | undefined = schema
  for (const name of path.split('.').slice(1)) at = at?.properties?.[name]
  return at
}

const validateSelectableFields = (version: DefinitionVersion, path: string): FieldError[] => {
  const schema = version.schema?.openAPIV3Schema
  const seen = new Set<string>()
  return (version.selectableFields ?? []).flatMap(({ jsonPath }, i) => {
    const at = child(index(path, i), 'jsonPath')
    if (!jsonPath) return [required(at)]
    if (!/^[.[]/.test(jsonPath)) {
      const got = /^[^.[]*/.exec(jsonPath)![0]
      return [invalid(at, jsonPath, `is an invalid path: expected [ or . but got: ${got}`)]
    }
    const found =
      schema && !jsonPath.startsWith('.metadata') ? schemaAt(schema, jsonPath) : undefined
    if (found === undefined)
      return [invalid(at, jsonPath, 'is an invalid path: does not refer to a valid field')]
    if (!['string', 'boolean', 'integer'].includes(found.type ?? ''))
      return [
        invalid(
          at,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      ]
    if (seen.has(jsonPath)) return [duplicate(at, jsonPath)]
    seen.add(jsonPath)
    return []
  })
}

const validateStoredVersions = ({ spec, status }: CustomResourceDefinition): FieldError[] => {
  const stored = status?.storedVersions ?? []
  const at = 'status.storedVersions'
  if (stored.length === 0) return [invalid(at, null, 'must have at least one stored version')]
  const errors: FieldError[] = []
  const names = (spec.versions ?? []).map((v) => v.name)
  for (const [i, name] of stored.entries())
    if (!names.includes(name))
      errors.push(
        invalid(
          index(at, i),
          name,
          `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
        ),
      )
  // With several storage versions by mistake, upstream asks for the last one.
  const storage = spec.versions.filter((v) => v.storage).at(-1)?.name
  if (errors.length === 0 && storage !== undefined && !stored.includes(storage))
    errors.push(invalid(at, stored, `must have the storage version ${storage}`))
  return errors
}

const approvalAnnotation = 'api-approved.kubernetes.io'

/** Groups of the community need an approval (KEP-2337). */
const validateApproval = ({ spec, metadata }: CustomResourceDefinition): FieldError[] => {
  const group = spec.group ?? ''
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group)
  if (!isProtected) return []
  const at = index('metadata.annotations', approvalAnnotation)
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  const must = `protected groups must have approval annotation "${approvalAnnotation}"`
  const value = metadata.annotations?.[approvalAnnotation]
  if (!value) return [required(at, `${must}, ${see}`)]
  if (value.startsWith('unapproved') || /^https?:\/\/[^/]+/.test(value)) return []
  return [
    invalid(at, value, `${must} with either a URL or a reason starting with "unapproved", ${see}`),
  ]
}

/** What may not change once a definition is established. */
export const validateDefinitionUpdate = (
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition,
): FieldError[] => {
  const errors: FieldError[] = []
  const immutable = (path: string, now: unknown, old: unknown) => {
    if (now !== old) errors.push(invalid(path, now, 'field is immutable'))
  }
  if (isTrue(previous, 'Established')) {
    immutable('spec.scope', next.spec.scope, previous.spec.scope)
    immutable('spec.names.kind', next.spec.names.kind, previous.spec.names.kind)
  }
  immutable('spec.group', next.spec.group, previous.spec.group)
  immutable('spec.names.plural', next.spec.names.plural, previous.spec.names.plural)
  const own = validateDefinition(next).filter(
    // The name follows from the two immutable fields; upstream says it there only.
    (e) => e.field !== 'metadata.name',
  )
  return [...errors, ...own]
}
