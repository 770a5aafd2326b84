/**
 * What makes a schema structural (upstream's ValidateStructural): every field has a type, and the combinations
 * (allOf, anyOf, oneOf, not) only restrict values. Errors come sorted, as upstream sorts them.
 */
import { eachEntry } from '#api/each.js'
import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import { compilePattern } from '#cel/patterns.js'
import { pushAll } from '#collections/push-all.js'
import { isGiven } from '#json/given-empty.js'
import { getOwn, jsonEqual } from '#json/object.js'
import { type StructuralSchema, valueSchemaOf } from '../structural-schema.js'

type Level = 'root' | 'item' | 'field'

export const validateStructure = (schema: StructuralSchema, path: string): FieldError[] =>
  [...invariants(schema, 'root', path), ...branchesComplete(schema, schema, path, path)].sort(
    (a, b) => (`${a.field}: ${a.body}` < `${b.field}: ${b.body}` ? -1 : 1),
  )

const missingType: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

const invariants = (s: StructuralSchema, level: Level, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (s.type === 'array' && s.items === undefined)
    errors.push(required(child(path, 'items'), 'must be specified'))
  if (s.items !== undefined) pushAll(errors, invariants(s.items, 'item', child(path, 'items')))
  pushAll(
    errors,
    eachEntry(child(path, 'properties'), s.properties, (_, property, at) =>
      invariants(property, 'field', at),
    ),
  )
  if (s.additionalProperties !== undefined && level === 'root')
    errors.push(forbidden(child(path, 'additionalProperties'), 'must not be used at the root'))
  const valueSchema = valueSchemaOf(s)
  if (valueSchema !== undefined)
    pushAll(errors, invariants(valueSchema, 'field', child(path, 'additionalProperties')))
  return [
    ...errors,
    ...extensionErrors(s, path),
    ...valueWords(s, path),
    ...typeErrors(s, level, path),
    ...embeddedErrors(s, path),
    ...resourceFieldErrors(s, level, path),
  ]
}

const extensionErrors = (s: StructuralSchema, path: string): FieldError[] => {
  if (s['x-kubernetes-int-or-string'] !== true) return []
  return (['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    .filter((word) => s[word] === true)
    .map((word) =>
      invalid(child(path, word), true, 'must be false if x-kubernetes-int-or-string is true'),
    )
}

const typeErrors = (s: StructuralSchema, level: Level, path: string): FieldError[] => {
  const at = child(path, 'type')
  const errors: FieldError[] = []
  if (s['x-kubernetes-embedded-resource'] === true && s.type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true'
    errors.push(s.type ? invalid(at, s.type, why) : required(at, why))
  } else if (
    !s.type &&
    s['x-kubernetes-int-or-string'] !== true &&
    s['x-kubernetes-preserve-unknown-fields'] !== true
  )
    errors.push(required(at, missingType[level]))
  if (level === 'root' && s.type && s.type !== 'object')
    errors.push(invalid(at, s.type, 'must be object at the root'))
  return errors
}

const embeddedErrors = (s: StructuralSchema, path: string): FieldError[] => {
  if (s['x-kubernetes-embedded-resource'] !== true) return []
  const errors: FieldError[] = []
  if (s.additionalProperties !== undefined)
    errors.push(
      forbidden(
        child(path, 'additionalProperties'),
        'must not be used if x-kubernetes-embedded-resource is set',
      ),
    )
  const empty = Object.keys(s.properties ?? {}).length === 0
  if (empty && s['x-kubernetes-preserve-unknown-fields'] !== true)
    errors.push(
      required(
        child(path, 'properties'),
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    )
  return errors
}

// Upstream's structural type takes these lists as they are given.
const saidWhenEmpty = ['required', 'x-kubernetes-list-map-keys']

/** A schema may only say the type of metadata, a default, and something about the two names. */
const saysMoreThanNames = (metadata: StructuralSchema): boolean => {
  const { type: _t, default: _d, properties = {}, ...more } = metadata
  return (
    Object.values(more).some(isSaid) ||
    saidWhenEmpty.some((word) => isGiven(metadata, word)) ||
    Object.keys(properties).some((name) => name !== 'name' && name !== 'generateName')
  )
}

/** Zero values are as good as absent in Go. */
const isSaid = (word: unknown): boolean =>
  word !== undefined &&
  word !== null &&
  word !== false &&
  word !== '' &&
  !(Array.isArray(word) && word.length === 0)

const resourceFieldErrors = (s: StructuralSchema, level: Level, path: string): FieldError[] => {
  const isResource = level === 'root' || s['x-kubernetes-embedded-resource'] === true
  const at = (name: string) => index(child(path, 'properties'), name)
  const errors: FieldError[] = []
  const mustBe = (name: string, type: string) => {
    const property = getOwn(s.properties, name)
    if (isResource && property !== undefined && property.type !== type)
      errors.push(invalid(child(at(name), 'type'), property.type ?? '', `must be ${type}`))
  }
  mustBe('kind', 'string')
  mustBe('apiVersion', 'string')
  mustBe('metadata', 'object')
  const metadata = getOwn(s.properties, 'metadata')
  if (level === 'root' && metadata !== undefined && saysMoreThanNames(metadata))
    errors.push(
      forbidden(
        at('metadata'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    )
  return errors
}

/** The form in which an int-or-string may spell out its types. */
const spellsIntOrString = (branches: readonly StructuralSchema[] | undefined): boolean =>
  branches !== undefined && jsonEqual(branches, [{ type: 'integer' }, { type: 'string' }])

/** Words that restrict values: a pattern, and the branches of combinations. */
const valueWords = (s: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (!spellsIntOrString(s.anyOf))
    for (const [i, branch] of (s.anyOf ?? []).entries())
      pushAll(errors, nested(branch, index(child(path, 'anyOf'), i)))
  for (const [i, branch] of (s.allOf ?? []).entries()) {
    const spells = i === 0 && spellsIntOrString(branch.anyOf)
    pushAll(errors, nested(branch, index(child(path, 'allOf'), i), spells))
  }
  for (const [i, branch] of (s.oneOf ?? []).entries())
    pushAll(errors, nested(branch, index(child(path, 'oneOf'), i)))
  if (s.not !== undefined) pushAll(errors, nested(s.not, child(path, 'not')))
  return [...errors, ...patternErrors(s, path)]
}

const patternErrors = ({ pattern }: StructuralSchema, path: string): FieldError[] => {
  if (!pattern) return []
  try {
    compilePattern(pattern)
    return []
  } catch (err) {
    const why = `must be a valid regular expression, but isn't: ${(err as Error).message}`
    return [invalid(child(path, 'pattern'), pattern, why)]
  }
}

// Words that shape the data: they belong to the structure, not into a combination.
const emptyWords = ['type', 'title', 'description'] as const
const undefinedWords = ['default', 'x-kubernetes-list-type', 'x-kubernetes-map-type'] as const
const falseWords = [
  'nullable',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
] as const

const nested = (s: StructuralSchema, path: string, skipsAnyOf = false): FieldError[] => {
  const errors: FieldError[] = []
  for (const word of emptyWords)
    if (s[word]) errors.push(forbidden(child(path, word), 'must be empty to be structural'))
  for (const word of undefinedWords)
    if (s[word] !== undefined && s[word] !== null)
      errors.push(forbidden(child(path, word), 'must be undefined to be structural'))
  for (const word of falseWords)
    if (s[word] === true)
      errors.push(forbidden(child(path, word), 'must be false to be structural'))
  if ((s['x-kubernetes-list-map-keys'] ?? []).length > 0)
    errors.push(
      forbidden(child(path, 'x-kubernetes-list-map-keys'), 'must be empty to be structural'),
    )
  if ((s['x-kubernetes-validations'] ?? []).length > 0)
    errors.push(
      forbidden(child(path, 'x-kubernetes-validations'), 'must be empty to be structural'),
    )
  // `false` has no place in upstream's structural type, and is left to the validator.
  if (s.additionalProperties !== undefined && s.additionalProperties !== false)
    errors.push(
      forbidden(child(path, 'additionalProperties'), 'must be undefined to be structural'),
    )
  if (s.items !== undefined) pushAll(errors, nested(s.items, child(path, 'items')))
  pushAll(
    errors,
    eachEntry(child(path, 'properties'), s.properties, (_, property, at) => nested(property, at)),
  )
  if (getOwn(s.properties, 'metadata') !== undefined)
    errors.push(
      forbidden(
        index(child(path, 'properties'), 'metadata'),
        'must not be specified in a nested context',
      ),
    )
  return [...errors, ...nestedWords(s, path, skipsAnyOf)]
}

// Below a combination no branch may spell out an int-or-string.
const nestedWords = (s: StructuralSchema, path: string, skipsAnyOf: boolean): FieldError[] => {
  const errors: FieldError[] = []
  for (const word of ['anyOf', 'allOf', 'oneOf'] as const)
    if (word !== 'anyOf' || !skipsAnyOf)
      for (const [i, branch] of (s[word] ?? []).entries())
        pushAll(errors, nested(branch, index(child(path, word), i)))
  if (s.not !== undefined) pushAll(errors, nested(s.not, child(path, 'not')))
  return [...errors, ...patternErrors(s, path)]
}

/** What a combination says of a field, the structure has to name as well (upstream's completeness). */
const branchesComplete = (
  s: StructuralSchema,
  structure: StructuralSchema,
  structurePath: string,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  if (s.not !== undefined)
    pushAll(errors, branchComplete(s.not, structure, structurePath, child(path, 'not')))
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [i, branch] of (s[word] ?? []).entries())
      pushAll(errors, branchComplete(branch, structure, structurePath, index(child(path, word), i)))
  return errors
}

const branchComplete = (
  branch: StructuralSchema,
  structure: StructuralSchema | undefined,
  structurePath: string,
  path: string,
): FieldError[] => {
  if (structure === undefined) return [required(structurePath, `because it is defined in ${path}`)]
  const errors = branchesComplete(branch, structure, structurePath, path)
  if (branch.items !== undefined)
    pushAll(
      errors,
      branchComplete(
        branch.items,
        structure.items,
        child(structurePath, 'items'),
        child(path, 'items'),
      ),
    )
  for (const [key, property] of Object.entries(branch.properties ?? {}))
    pushAll(
      errors,
      branchComplete(
        property,
        getOwn(structure.properties, key),
        index(child(structurePath, 'properties'), key),
        index(child(path, 'properties'), key),
      ),
    )
  return errors
}
