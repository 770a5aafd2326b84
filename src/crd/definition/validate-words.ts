/**
 * Which words of JSON schema a definition may use, and how (upstream's ValidateCustomResourceDefinitionOpenAPISchema
 * with its standard validator for v1).
 */
import { eachEntry } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { once } from '#async/once.js'
import { pushAll } from '#collections/push-all.js'
import { givenEmpty, isGiven } from '#json/given-empty.js'
import { getOwn, isJsonObject } from '#json/object.js'
import { ruleWords } from '../rules/rule-words.js'
import { type StructuralSchema, valueSchemaOf } from '../structural-schema.js'
import { internalItems } from './internal-schema.js'

const unsupportedWords = [
  'id',
  '$schema',
  '$ref',
  'definitions',
  'additionalItems',
  'patternProperties',
  'dependencies',
]
// Upstream refuses these when they were given, and the others when they hold something. In the structural type all but
// additionalItems have a place as long as they are empty.
const refusedWhenEmpty = new Set(['$ref', 'additionalItems', 'dependencies'])

const isRefused = (schema: StructuralSchema, word: string): boolean =>
  refusedWhenEmpty.has(word) ? isGiven(schema, word) : isUsed(schema, word)

const isUsed = (schema: StructuralSchema, word: string): boolean => {
  if (word === 'additionalItems') return isGiven(schema, word)
  const value = (schema as unknown as Record<string, unknown>)[word] ?? ''
  return value !== '' && !(isJsonObject(value) && Object.keys(value).length === 0)
}

const hasStructuralForm = (schema: StructuralSchema): boolean =>
  withoutStructuralForm(schema) === undefined

/** What upstream's structural type has no place for, anywhere in a schema; undefined when there is no such word. */
export const withoutStructuralForm = (schema: StructuralSchema): string | undefined => {
  const word = unsupportedWords.find((one) => isUsed(schema, one))
  if (word !== undefined)
    return `OpenAPIV3Schema '${word === '$schema' ? 'schema' : word}' is not supported`
  if (Array.isArray(schema.items))
    return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  const valueSchema = valueSchemaOf(schema)
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(valueSchema === undefined ? [] : [valueSchema]),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.not === undefined ? [] : [schema.not]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ]
  for (const one of inner) {
    const why = withoutStructuralForm(one)
    if (why !== undefined) return why
  }
  return undefined
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const metaFields = new Set(['metadata', 'kind', 'apiVersion'])

interface Around {
  /** Takes the paths of schemas with errors there or below. */
  readonly broken: Set<string>
  readonly isRoot?: boolean
  /** Why a default is not allowed here. */
  readonly defaultsForbidden?: string
  /** Inside of the metadata of an object, or its kind or apiVersion. */
  readonly isMeta?: boolean
}

interface Words {
  readonly errors: FieldError[]
  /** The paths of schemas with errors there or below. One that is told of a part may be its list's. */
  readonly broken: ReadonlySet<string>
}

export const validateWords = (schema: StructuralSchema, path: string): Words => {
  const broken = new Set<string>()
  return { errors: wordsAt(schema, path, { broken, isRoot: true }), broken }
}

const wordsAt = (schema: StructuralSchema, path: string, around: Around): FieldError[] => {
  const errors = ownWords(schema, path, around)
  const { properties, items } = schema
  const inner: Around = { ...around, isRoot: false }
  const valueSchema = valueSchemaOf(schema)
  if (valueSchema !== undefined) {
    const why = 'must not be set inside additionalProperties applying to object metadata'
    const values = around.isMeta ? { ...inner, defaultsForbidden: why } : inner
    pushAll(errors, wordsAt(valueSchema, child(path, 'additionalProperties'), values))
  }
  const isResource = around.isRoot || schema['x-kubernetes-embedded-resource'] === true
  const ofProperty = (key: string, property: StructuralSchema, at: string): FieldError[] => {
    const isMeta = isResource && metaFields.has(key)
    const forbidsDefaults = isMeta && around.isRoot
    return wordsAt(property, at, {
      ...inner,
      ...(isMeta ? { isMeta } : {}),
      ...(forbidsDefaults ? { defaultsForbidden: `must not be set in top-level ${key}` } : {}),
    })
  }
  pushAll(errors, eachEntry(child(path, 'properties'), properties, ofProperty))
  if (schema.not !== undefined) pushAll(errors, wordsAt(schema.not, child(path, 'not'), inner))
  for (const word of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [i, branch] of (schema[word] ?? []).entries())
      pushAll(errors, wordsAt(branch, index(child(path, word), i), inner))
  if (isJsonObject(items)) pushAll(errors, wordsAt(items, child(path, 'items'), inner))
  pushAll(errors, refusedPlaces(schema, path, inner))
  pushAll(errors, extensionErrors(schema, path))
  pushAll(errors, ruleWords(schema, path, hasStructuralForm))
  if (errors.length > 0) around.broken.add(path)
  return errors
}

/** Schemas in places that are refused are looked at, too. */
const refusedPlaces = (schema: StructuralSchema, path: string, around: Around): FieldError[] => {
  const { items, definitions, dependencies } = schema as Readonly<Record<string, unknown>>
  const errors: FieldError[] = []
  if (Array.isArray(items))
    for (const [i, one] of (items as StructuralSchema[]).entries())
      pushAll(errors, wordsAt(one, index(child(path, 'items'), i), around))
  const ofEntry = (_: string, one: StructuralSchema | string[], at: string) =>
    Array.isArray(one) ? [] : wordsAt(one, at, around)
  for (const [word, held] of Object.entries({ definitions, dependencies }))
    if (isJsonObject(held))
      pushAll(
        errors,
        eachEntry(child(path, word), held as Record<string, StructuralSchema>, ofEntry),
      )
  return errors
}

const ownWords = (
  schema: StructuralSchema,
  path: string,
  { defaultsForbidden, isMeta = false }: Around,
): FieldError[] => {
  const errors: FieldError[] = []
  if (schema.type && !types.includes(schema.type))
    errors.push(notSupported(child(path, 'type'), schema.type, types))
  if (schema.default !== undefined && defaultsForbidden !== undefined)
    errors.push(forbidden(child(path, 'default'), defaultsForbidden))
  for (const word of unsupportedWords)
    if (word !== '$schema' && isRefused(schema, word))
      errors.push(forbidden(child(path, word), `${word} is not supported`))
  if (schema.type === 'null')
    errors.push(
      forbidden(child(path, 'type'), 'type cannot be set to null, use nullable as an alternative'),
    )
  if (Array.isArray(schema.items))
    errors.push(forbidden(child(path, 'items'), 'items must be a schema object and not an array'))
  if (isMeta && schema['x-kubernetes-embedded-resource'] === true)
    errors.push(
      forbidden(
        child(path, 'x-kubernetes-embedded-resource'),
        'must not be used inside of resource meta',
      ),
    )
  if (schema.uniqueItems === true)
    errors.push(
      forbidden(
        child(path, 'uniqueItems'),
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    )
  const { additionalProperties } = schema
  const hasProperties = Object.keys(schema.properties ?? {}).length > 0
  if (additionalProperties !== undefined && additionalProperties !== true && hasProperties)
    errors.push(
      forbidden(
        child(path, 'additionalProperties'),
        'additionalProperties and properties are mutual exclusive',
      ),
    )
  return errors
}

const mustHaveType = (
  schema: StructuralSchema,
  path: string,
  wanted: string,
  why: string,
): FieldError[] => {
  const at = child(path, 'type')
  if (schema.type === wanted) return []
  return [schema.type ? invalid(at, schema.type, why) : required(at, why)]
}

const extensionErrors = (schema: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(
      invalid(
        child(path, 'x-kubernetes-preserve-unknown-fields'),
        false,
        'must be true or undefined',
      ),
    )
  const mapType = schema['x-kubernetes-map-type']
  if (mapType !== undefined) {
    errors.push(
      ...mustHaveType(
        schema,
        path,
        'object',
        'must be object if x-kubernetes-map-type is specified',
      ),
    )
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(
        notSupported(child(path, 'x-kubernetes-map-type'), mapType, ['atomic', 'granular']),
      )
  }
  return [...errors, ...listTypeErrors(schema, path)]
}

const listTypeErrors = (schema: StructuralSchema, path: string): FieldError[] => {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const errors: FieldError[] = []
  const items = isJsonObject(schema.items) ? schema.items : undefined
  if (listType !== undefined) {
    const why = 'must be array if x-kubernetes-list-type is specified'
    errors.push(...mustHaveType(schema, path, 'array', why))
    if (schema.type === 'array' && listType === 'set' && items !== undefined)
      pushAll(errors, setErrors(items, child(path, 'items')))
    if (!['atomic', 'set', 'map'].includes(listType))
      errors.push(
        notSupported(child(path, 'x-kubernetes-list-type'), listType, ['atomic', 'set', 'map']),
      )
  }
  if (keys.length > 0 && listType !== 'map') {
    const at = child(path, 'x-kubernetes-list-type')
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty'
    errors.push(listType === undefined ? required(at, why) : invalid(at, listType, why))
  }
  if (listType === 'map') pushAll(errors, mapErrors(schema, keys, path))
  if (items !== undefined && (listType === 'set' || listType === 'map'))
    pushAll(errors, nullableErrors(items, listType === 'map' ? keys : [], listType, path))
  return errors
}

const setErrors = (items: StructuralSchema, at: string): FieldError[] => {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  const inner = items['x-kubernetes-list-type']
  if (items.type === 'array' && inner !== undefined && inner !== 'atomic')
    return [invalid(child(at, 'x-kubernetes-list-type'), inner, why)]
  // Upstream prints the list type here, by mistake.
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    return [invalid(child(at, 'x-kubernetes-map-type'), inner ?? null, why)]
  return []
}

const mapErrors = (
  schema: StructuralSchema,
  keys: readonly string[],
  path: string,
): FieldError[] => {
  const items = schema.items ?? (givenEmpty(schema, 'items') as StructuralSchema | undefined)
  const at = child(path, 'x-kubernetes-list-map-keys')
  const itemsAt = child(path, 'items')
  const errors: FieldError[] = []
  if (keys.length === 0)
    errors.push(required(at, 'must not be empty if x-kubernetes-list-type is map'))
  if (items === undefined)
    return [...errors, required(itemsAt, 'must have a schema if x-kubernetes-list-type is map')]
  if (Array.isArray(items)) {
    const why = 'must only have a single schema if x-kubernetes-list-type is map'
    return [...errors, invalid(itemsAt, internalItems(items), why)]
  }
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map"
    return [...errors, invalid(child(itemsAt, 'type'), items.type ?? '', why)]
  }
  // Each error shows all keys; made anew for each key, they would take the square of them.
  const noProperty = once(() => invalid(at, keys, 'entries must all be names of item properties'))
  const twice = once(() => invalid(at, keys, 'must not contain duplicate entries'))
  const seen = new Set<string>()
  for (const key of keys) {
    const property = getOwn(items.properties, key)
    if (property === undefined) errors.push(noProperty())
    else if (property.type === 'array' || property.type === 'object')
      errors.push(
        // Upstream prints the type of the items here, by mistake.
        invalid(
          child(index(child(itemsAt, 'properties'), key), 'type'),
          items.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      )
    if (seen.has(key)) errors.push(twice())
    seen.add(key)
  }
  return errors
}

/** Items of sets and maps, and the keys of a map, must not be null. */
const nullableErrors = (
  items: StructuralSchema,
  keys: readonly string[],
  listType: string,
  path: string,
): FieldError[] => {
  const itemsAt = child(path, 'items')
  const errors: FieldError[] = []
  if (items.nullable === true)
    errors.push(
      forbidden(
        child(itemsAt, 'nullable'),
        `cannot be nullable when x-kubernetes-list-type is ${listType}`,
      ),
    )
  const needed = new Set(items.required)
  for (const key of keys) {
    const property = getOwn(items.properties, key)
    if (property === undefined) continue
    const at = index(child(itemsAt, 'properties'), key)
    const inKeys = 'this property is in x-kubernetes-list-map-keys, so it'
    if (property.default === undefined && !needed.has(key))
      errors.push(
        required(child(at, 'default'), `${inKeys} must have a default or be a required property`),
      )
    if (property.nullable === true)
      errors.push(forbidden(child(at, 'nullable'), `${inKeys} cannot be nullable`))
  }
  return errors
}
