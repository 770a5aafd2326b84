/**
 * Validation of a value against a structural schema, in the words and order of kube-openapi's validator:
 * type, combinations (anyOf, oneOf, allOf, not), string, format, number, list, enum, object.
 */
import {
  dotted,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '#api/field-error.js'
import { oncePerObject } from '#async/once.js'
import { matchesPattern } from '#cel/patterns.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import { getOwn, isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import type { Correlated } from './correlation.js'
import { matchesFormat } from './formats.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'
import { isGoInteger, isWholeFloat, rootError, validateNumber } from './validate-number.js'

/** What a validator found, and how many of its checks held: the branch of a combination that fits best is told about. */
interface Result {
  readonly errors: FieldError[]
  matches: number
  /** Texts of what was merged into it: a long list may be wrong in every item. */
  said?: Set<string>
  /** Of those texts: each may be as long as the object. */
  characters?: number
}

/** Nothing more is looked for then. */
const holdsEnough = ({ characters = 0, errors }: Result): boolean =>
  characters > limits.fieldErrorsCharactersMax || errors.length > limits.fieldErrorsMax

/** Upstream reports the same error only once. */
const merge = (into: Result, { errors, matches }: Result): void => {
  into.matches += matches
  for (const error of errors) {
    if (holdsEnough(into)) return
    const text = `${error.field}: ${error.body}`
    into.said ??= new Set()
    if (!into.said.has(text)) into.errors.push(error)
    into.said.add(text)
    into.characters = (into.characters ?? 0) + text.length
  }
}

const resultOf = (errors: FieldError[], matches = 0): Result => ({ errors, matches })

/** The type's name as the validator prints it. */
const typeNameOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint' || typeof value === 'number')
    return isGoInteger(value) ? 'integer' : 'number'
  return typeof value
}

const wrongType = (path: string, wanted: string, name: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field: path === '' ? '<nil>' : path,
  body: `Invalid value: "${name}": ${path} in body must be of type ${wanted}: "${name}"`,
})

const wantedTypes = (schema: StructuralSchema): string[] =>
  schema['x-kubernetes-int-or-string'] === true
    ? ['integer', 'string']
    : schema.type === undefined || schema.type === ''
      ? []
      : [schema.type]

/** The format that Go's type of a value stands for. */
const goFormatOf = (typeName: string): string =>
  typeName === 'integer' ? 'int64' : typeName === 'number' ? 'float64' : ''

const validateType = (
  value: JsonValue,
  types: readonly string[],
  format: string,
  path: string,
): Result => {
  const name = typeNameOf(value)
  if (value === null)
    return types.length > 0 ? resultOf([wrongType(path, types.join(','), name)]) : resultOf([], 1)
  const isText = name === 'string' || name === 'array'
  const hasType =
    types.includes(name) ||
    (name === 'integer' && types.includes('number')) ||
    (name === 'number' && types.includes('integer') && isWholeFloat(value as number))
  if (!isText && format !== '' && !hasType && goFormatOf(name) !== format)
    return resultOf([wrongType(path, format, goFormatOf(name))])
  const isNumeric = types.includes('number') || types.includes('integer')
  // The format is looked at instead of the type.
  if (!isNumeric && format !== '' && isText) return resultOf([], 1)
  return hasType ? resultOf([], 1) : resultOf([wrongType(path, types.join(','), name)])
}

/** Errors of `value`; `path` is where it is, as `spec.l[0].k`. What `correlated` says is unchanged has none. */
export const validateValue = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
  correlated?: Correlated,
): FieldError[] =>
  validate(value, schema, path, correlated).errors.map((error) => ({
    ...error,
    field: error.field === '' ? '<nil>' : error.field.replace(/^\./, ''),
  }))

const validate = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
  correlated?: Correlated,
): Result => {
  const result = validateWhole(value, schema, path, correlated)
  return result.errors.length > 0 && correlated?.isUnchanged === true
    ? resultOf([], result.matches)
    : result
}

const validateWhole = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
  correlated: Correlated | undefined,
): Result => {
  const result = resultOf([])
  const types = wantedTypes(schema)
  const { format = '' } = schema
  const run = (found: Result): void => {
    merge(result, found)
    result.matches++
  }
  if (types.length > 0 || format !== '') {
    if (value !== null) run(validateType(value, types, format, path))
    else if (schema.nullable !== true) merge(result, validateType(value, types, format, path))
  }
  if (value === null) {
    merge(result, resultOf(validateEnum(value, schema, path)))
    return result
  }
  // Branches of combinations know nothing of what was there before.
  run(validateCombinations(value, schema, path))
  if (typeof value === 'string') {
    run(resultOf(validateString(value, schema, path)))
    if (format !== '') run(resultOf(validateFormat(value, format, path)))
  } else if (typeof value === 'number' || typeof value === 'bigint')
    run(resultOf(validateNumber(value, schema, types, path), 1))
  else if (Array.isArray(value)) run(validateList(value, schema, path, correlated))
  run(resultOf(validateEnum(value, schema, path)))
  if (isJsonObject(value)) run(validateObject(value, schema, path, correlated))
  result.matches++
  return result
}

const holds = ({ errors }: Result): boolean => errors.length === 0

/** The first of those that most checks of held. */
const closest = (results: readonly Result[]): Result | undefined =>
  results.reduce<Result | undefined>(
    (best, one) => (best === undefined || one.matches > best.matches ? one : best),
    undefined,
  )

const validateCombinations = (value: JsonValue, schema: StructuralSchema, path: string): Result => {
  const result = resultOf([])
  const say = (detail: string) => result.errors.push(rootError(`${goQuote(path)} ${detail}`))
  const tryAll = (branches: readonly StructuralSchema[] | undefined): Result[] =>
    (branches ?? []).map((branch) => validate(value, branch, path))
  const anyOf = tryAll(schema.anyOf)
  if (anyOf.length > 0) {
    const found = anyOf.find(holds)
    if (found === undefined) say('must validate at least one schema (anyOf)')
    merge(result, found ?? closest(anyOf)!)
  }
  const oneOf = tryAll(schema.oneOf)
  if (oneOf.length > 0) {
    const valid = oneOf.filter(holds)
    if (valid.length === 1) merge(result, valid[0]!)
    else {
      const found =
        valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`
      say(`must validate one and only one schema (oneOf). ${found}`)
      if (valid.length === 0) merge(result, closest(oneOf)!)
    }
  }
  const allOf = tryAll(schema.allOf)
  if (allOf.length > 0) {
    const valid = allOf.filter(holds).length
    for (const one of allOf) merge(result, one)
    if (valid !== allOf.length)
      say(`must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`)
  }
  if (schema.not !== undefined && holds(validate(value, schema.not, path)))
    say('must not validate the schema (not)')
  result.matches++
  return result
}

const validateString = (value: string, schema: StructuralSchema, path: string): FieldError[] => {
  const { maxLength, minLength, pattern } = schema
  const characters = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && characters > maxLength) return [tooLong(path, maxLength)]
  if (minLength !== undefined && characters < minLength)
    return [invalid(path, value, `${path} in body should be at least ${minLength} chars long`)]
  return pattern && !matchesPattern(pattern, value)
    ? [invalid(path, value, `${path} in body should match '${pattern}'`)]
    : []
}

const validateFormat = (value: string, format: string, path: string): FieldError[] => {
  if (matchesFormat(value, format)) return []
  const text = goQuote(value)
  return [
    {
      type: 'FieldValueTypeInvalid',
      field: path,
      body: `Invalid value: ${text}: ${path} in body must be of type ${format}: ${text}`,
    },
  ]
}

const validateList = (
  value: readonly JsonValue[],
  schema: StructuralSchema,
  path: string,
  correlated: Correlated | undefined,
): Result => {
  const result = resultOf([], 1)
  const { errors } = result
  const { items } = schema
  if (items !== undefined)
    for (let i = 0; i < value.length && !holdsEnough(result); i++)
      merge(result, validate(value[i]!, items, `${path}[${i}]`, correlated?.index(i)))
  if (schema.minItems !== undefined && value.length < schema.minItems)
    errors.push(
      invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`),
    )
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    errors.push(tooMany(path, value.length, schema.maxItems))
  return result
}

const printEnum = (value: JsonValue): string =>
  typeof value === 'string' ? value : stringify(withKeysInOrder(value))

/** There may be very many of them, and as many values: they are compared by their texts. */
const textsOf = oncePerObject((allowed: readonly JsonValue[]) => ({
  all: new Set(allowed.map(textOf)),
  integers: new Set(allowed.filter(isGoInteger).map(textOf)),
}))
const textOf = (value: JsonValue): string => stringify(withKeysInOrder(value))

/** Go converts the value to the type of what is allowed: a fraction is cut off. Null never is among them. */
const isAllowed = (value: JsonValue, allowed: readonly JsonValue[]): boolean => {
  if (value === null) return false
  const { all, integers } = textsOf(allowed)
  if (all.has(textOf(value))) return true
  return typeof value === 'number' && integers.has(textOf(Math.trunc(value)))
}

const validateEnum = (value: JsonValue, schema: StructuralSchema, path: string): FieldError[] => {
  const allowed = schema.enum
  if (allowed === undefined || allowed.length === 0) return []
  if (isAllowed(value, allowed)) return []
  return [notSupported(path, withKeysInOrder(value), allowed.map(printEnum))]
}

/** Of a whole object these are written by the server in old and new alike, so that they tell of no change. */
const isTypeField = (path: string, key: string): boolean =>
  path === '' && (key === 'kind' || key === 'apiVersion')

const forbiddenProperty = (path: string, key: string): Result =>
  resultOf([invalid(path, key, `${path}.${key} in body is a forbidden property`)])

const validateObject = (
  value: JsonObject,
  schema: StructuralSchema,
  path: string,
  correlated: Correlated | undefined,
): Result => {
  const result = resultOf([])
  const { errors } = result
  const keys = Object.keys(value)
  const { minProperties, maxProperties } = schema
  if (minProperties !== undefined && keys.length < minProperties)
    errors.push(
      invalid(
        path,
        keys.length,
        `${path} in body should have at least ${minProperties} properties`,
      ),
    )
  if (maxProperties !== undefined && keys.length > maxProperties)
    errors.push(tooMany(path, keys.length, maxProperties))
  const valueSchema = valueSchemaOf(schema)
  for (const key of keys) {
    if (holdsEnough(result)) break
    const property = getOwn(schema.properties, key)
    if (property === undefined && schema.additionalProperties === false)
      merge(result, forbiddenProperty(path, key))
    const inner = property ?? valueSchema
    if (inner === undefined) continue
    const before = isTypeField(path, key) ? undefined : correlated?.key(key)
    // Messages show a dot before the key of a map that is all that is looked at.
    const at = property === undefined ? `${path}.${key}` : dotted(path, key)
    merge(result, validate(value[key]!, inner, at, before))
  }
  for (const key of schema.required ?? [])
    if (!Object.hasOwn(value, key)) errors.push(required(dotted(path, key)))
  return result
}
