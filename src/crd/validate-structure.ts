/**
 * What makes a schema structural (upstream's ValidateStructural): every field has a type, and the combinations
 * (allOf, anyOf, oneOf, not) only restrict values. Errors come sorted, as upstream sorts them.
 */
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { StructuralSchema } from './structural-schema.js'

type Level = 'root' | 'item' | 'field'

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']

export const validateStructure = (schema: StructuralSchema, path: string): FieldError[] =>
  invariants(schema, 'root', path).sort((a, b) =>
    `${a.field}: ${a.body}` < `${b.field}: ${b.body}` ? -1 : 1,
  )

const missingType: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

const invariants = (s: StructuralSchema, level: Level, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (s.items !== undefined && !Array.isArray(s.items))
    errors.push(...invariants(s.items, 'item', child(path, 'items')))
  for (const [key, property] of Object.entries(s.properties ?? {}))
    errors.push(...invariants(property, 'field', index(child(path, 'properties'), key)))
  if (typeof s.additionalProperties === 'object')
    errors.push(...invariants(s.additionalProperties, 'field', child(path, 'additionalProperties')))
  if (s.type && !types.includes(s.type))
    errors.push(notSupported(child(path, 'type'), s.type, types))
  errors.push(...typeErrors(s, level, path), ...embeddedErrors(s, path))
  errors.push(...nestedBranches(s, path))
  if (level === 'root' || s['x-kubernetes-embedded-resource'] === true)
    errors.push(...resourceFieldErrors(s, path))
  return errors
}

const typeErrors = (s: StructuralSchema, level: Level, path: string): FieldError[] => {
  const at = child(path, 'type')
  if (s['x-kubernetes-embedded-resource'] === true && s.type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true'
    return [s.type ? invalid(at, s.type, why) : required(at, why)]
  }
  if (!s.type) {
    const open =
      level !== 'root' &&
      (s['x-kubernetes-int-or-string'] === true ||
        s['x-kubernetes-preserve-unknown-fields'] === true)
    return open ? [] : [required(at, missingType[level])]
  }
  const errors: FieldError[] = []
  if (s.type === 'array' && s.items === undefined)
    errors.push(required(child(path, 'items'), 'must be specified'))
  if (level === 'root' && s.type !== 'object')
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

const resourceFieldErrors = (s: StructuralSchema, path: string): FieldError[] => {
  const at = (name: string) => index(child(path, 'properties'), name)
  const errors = ['kind', 'apiVersion'].flatMap((name) => {
    const type = s.properties?.[name]?.type
    return type !== undefined && type !== 'string'
      ? [invalid(child(at(name), 'type'), type, 'must be string')]
      : []
  })
  const metadata = s.properties?.metadata
  if (metadata === undefined) return errors
  if (metadata.type !== 'object')
    errors.push(invalid(child(at('metadata'), 'type'), metadata.type ?? '', 'must be object'))
  const names = Object.keys(metadata.properties ?? {})
  if (
    s['x-kubernetes-embedded-resource'] !== true &&
    names.some((n) => n !== 'name' && n !== 'generateName')
  )
    errors.push(
      forbidden(
        at('metadata'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    )
  return errors
}

/** The two forms in which an int-or-string may spell out its types. */
const spellsIntOrString = (branches: readonly StructuralSchema[] | undefined): boolean =>
  branches?.length === 2 && branches[0]?.type === 'integer' && branches[1]?.type === 'string'

const nestedBranches = (s: StructuralSchema, path: string): FieldError[] => {
  const intOrString = s['x-kubernetes-int-or-string'] === true
  const errors: FieldError[] = []
  const each = (word: 'allOf' | 'anyOf' | 'oneOf') => {
    for (const [i, branch] of (s[word] ?? []).entries()) {
      const at = index(child(path, word), i)
      if (intOrString && word === 'anyOf' && spellsIntOrString(s.anyOf)) continue
      if (intOrString && word === 'allOf' && i === 0 && spellsIntOrString(branch.anyOf)) continue
      errors.push(...nested(branch, at))
    }
  }
  each('allOf')
  each('anyOf')
  each('oneOf')
  if (s.not !== undefined) errors.push(...nested(s.not, child(path, 'not')))
  return errors
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

const nested = (s: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const words = s as unknown as Record<string, unknown>
  for (const word of emptyWords)
    if (words[word]) errors.push(forbidden(child(path, word), 'must be empty to be structural'))
  for (const word of undefinedWords)
    if (words[word] !== undefined && words[word] !== null)
      errors.push(forbidden(child(path, word), 'must be undefined to be structural'))
  for (const word of falseWords)
    if (words[word] === true)
      errors.push(forbidden(child(path, word), 'must be false to be structural'))
  if ((s['x-kubernetes-list-map-keys'] ?? []).length > 0)
    errors.push(
      forbidden(child(path, 'x-kubernetes-list-map-keys'), 'must be empty to be structural'),
    )
  if ((s['x-kubernetes-validations'] ?? []).length > 0)
    errors.push(
      forbidden(child(path, 'x-kubernetes-validations'), 'must be empty to be structural'),
    )
  if (s.additionalProperties !== undefined)
    errors.push(
      forbidden(child(path, 'additionalProperties'), 'must be undefined to be structural'),
    )
  if (s.items !== undefined) errors.push(...nested(s.items, child(path, 'items')))
  for (const [key, property] of Object.entries(s.properties ?? {}))
    errors.push(...nested(property, index(child(path, 'properties'), key)))
  return [...errors, ...nestedBranches(s, path)]
}
