/**
 * Validation of a value against a structural schema, in the words and order of kube-openapi's validator:
 * type, combinations (anyOf, oneOf, allOf, not), string, format, number, list, enum, object.
 */

import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '#api/field-error.js'
import { getOwn, isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { matchesPattern } from '#cel/patterns.js'
import { matchesFormat } from './formats.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

const isInteger = (value: unknown): boolean =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))

/** The type's name as the validator prints it. */
const typeNameOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** An error without a field of its own: upstream reports it at the nil path with an empty value. */
const rootError = (detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: '<nil>',
  body: `Invalid value: "": ${detail}`,
})

const wrongType = (path: string, wanted: string, value: unknown): FieldError => {
  const name = typeNameOf(value)
  return {
    type: 'FieldValueTypeInvalid',
    field: path === '' ? '<nil>' : path,
    body: `Invalid value: "${name}": ${path} in body must be of type ${wanted}: "${name}"`,
  }
}

const wantedTypes = (schema: StructuralSchema): string[] =>
  schema['x-kubernetes-int-or-string'] === true
    ? ['integer', 'string']
    : schema.type === undefined || schema.type === ''
      ? []
      : [schema.type]

const hasType = (value: unknown, types: readonly string[]): boolean => {
  const name = typeNameOf(value)
  return types.includes(name) || (name === 'integer' && types.includes('number'))
}

/** Errors of `value`; `path` is where it is, as `spec.l[0].k`. */
export const validateValue = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  if (value === null && schema.nullable === true) return []
  const types = wantedTypes(schema)
  const errors: FieldError[] = []
  if (types.length > 0 && !hasType(value, types)) {
    errors.push(wrongType(path, types.join(','), value))
    if (typeof value !== 'number' || !types.includes('integer') || types.length > 1) return errors
  }
  errors.push(...validateCombinations(value, schema, path))
  if (typeof value === 'string') errors.push(...validateString(value, schema, path))
  else if (typeof value === 'number' || typeof value === 'bigint')
    errors.push(...validateNumber(value, schema, path))
  else if (Array.isArray(value)) errors.push(...validateList(value, schema, path))
  errors.push(...validateEnum(value, schema, path))
  if (isJsonObject(value)) errors.push(...validateObject(value, schema, path))
  return errors
}

const quoted = (path: string): string => JSON.stringify(path)

const validateCombinations = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  const results = (branches: readonly StructuralSchema[] | undefined): FieldError[][] =>
    (branches ?? []).map((branch) => validateValue(value, branch, path))
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const tried = results(schema.anyOf)
    if (!tried.some((e) => e.length === 0)) {
      errors.push(rootError(`${quoted(path)} must validate at least one schema (anyOf)`))
      errors.push(...tried[0]!)
    }
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const tried = results(schema.oneOf)
    const valid = tried.filter((e) => e.length === 0).length
    if (valid !== 1) {
      const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`
      errors.push(
        rootError(`${quoted(path)} must validate one and only one schema (oneOf). ${found}`),
      )
      if (valid === 0) errors.push(...tried[0]!)
    }
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const tried = results(schema.allOf)
    const valid = tried.filter((e) => e.length === 0).length
    if (valid !== tried.length) {
      errors.push(...tried.flat())
      const none = valid === 0 ? '. None validated' : ''
      errors.push(rootError(`${quoted(path)} must validate all the schemas (allOf)${none}`))
    }
  }
  if (schema.not !== undefined && validateValue(value, schema.not, path).length === 0)
    errors.push(rootError(`${quoted(path)} must not validate the schema (not)`))
  return errors
}

const validateString = (value: string, schema: StructuralSchema, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const characters =
    schema.maxLength === undefined && schema.minLength === undefined ? 0 : [...value].length
  if (schema.maxLength !== undefined && characters > schema.maxLength)
    errors.push(tooLong(path, schema.maxLength))
  else if (schema.minLength !== undefined && characters < schema.minLength)
    errors.push(
      invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`),
    )
  else if (schema.pattern && !matchesPattern(schema.pattern, value))
    errors.push(invalid(path, value, `${path} in body should match '${schema.pattern}'`))
  if (schema.format && !matchesFormat(value, schema.format)) {
    const text = JSON.stringify(value)
    errors.push({
      type: 'FieldValueTypeInvalid',
      field: path,
      body: `Invalid value: ${text}: ${path} in body must be of type ${schema.format}: ${text}`,
    })
  }
  return errors
}

// As Go's %v of a float64: plain, or with an exponent from 1e21 on.
const printNumber = (n: number): string =>
  Math.abs(n) >= 1e21 ? n.toExponential().replace(/e([+-])(\d)$/, 'e$10$2') : String(n)

const inRange = (value: number | bigint, format: string | undefined): boolean => {
  const n = BigInt(value)
  if (format === 'int32') return n >= -(2n ** 31n) && n < 2n ** 31n
  return n >= -(2n ** 63n) && n < 2n ** 63n
}

const validateNumber = (
  value: number | bigint,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  if (schema.type === 'integer' && !schema['x-kubernetes-int-or-string']) {
    const named = schema.format ? `with format ${schema.format}` : '(default format)'
    if (!isInteger(value) || !inRange(value, schema.format))
      return [rootError(`Checked value must be of type integer ${named} in ${path}`)]
  }
  const errors: FieldError[] = []
  const should = (detail: string) => errors.push(invalid(path, value, `${path} in body ${detail}`))
  const n = Number(value)
  if (schema.multipleOf !== undefined && schema.multipleOf > 0) {
    const quotient = n / schema.multipleOf
    if (!Number.isInteger(quotient))
      should(`should be a multiple of ${printNumber(schema.multipleOf)}`)
  }
  const { maximum, minimum } = schema
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum && n >= maximum)
      should(`should be less than ${printNumber(maximum)}`)
    else if (n > maximum) should(`should be less than or equal to ${printNumber(maximum)}`)
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum && n <= minimum)
      should(`should be greater than ${printNumber(minimum)}`)
    else if (n < minimum) should(`should be greater than or equal to ${printNumber(minimum)}`)
  }
  return errors
}

const validateList = (
  value: readonly JsonValue[],
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
  if (schema.items !== undefined) {
    const items = schema.items
    value.forEach((item, i) => {
      errors.push(...validateValue(item, items, `${path}[${i}]`))
    })
  }
  if (schema.minItems !== undefined && value.length < schema.minItems)
    errors.push(
      invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`),
    )
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    errors.push(tooMany(path, value.length, schema.maxItems))
  return errors
}

const printEnum = (value: JsonValue): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

const validateEnum = (value: JsonValue, schema: StructuralSchema, path: string): FieldError[] => {
  const allowed = schema.enum
  if (allowed === undefined || allowed.length === 0) return []
  if (allowed.some((one) => jsonEqual(one, value))) return []
  return [notSupported(path, value, allowed.map(printEnum))]
}

const validateObject = (
  value: JsonObject,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const errors: FieldError[] = []
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
    const inner = getOwn(schema.properties, key) ?? valueSchema
    if (inner !== undefined)
      errors.push(...validateValue(value[key]!, inner, path === '' ? key : `${path}.${key}`))
  }
  for (const key of schema.required ?? [])
    if (!Object.hasOwn(value, key)) errors.push(required(path === '' ? key : `${path}.${key}`))
  return errors
}

/**
 * Lists of type set and map hold no item twice; upstream looks after the schema is met, in a walk of its own.
 */
export const validateListSets = (
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  if (Array.isArray(value)) {
    const errors = duplicatesIn(value, schema, path)
    const { items } = schema
    if (items !== undefined)
      value.forEach((item, i) => {
        errors.push(...validateListSets(item, items, `${path}[${i}]`))
      })
    return errors
  }
  if (!isJsonObject(value)) return []
  const valueSchema = valueSchemaOf(schema)
  return Object.keys(value).flatMap((key) => {
    const property = getOwn(schema.properties, key)
    if (property !== undefined)
      return validateListSets(value[key]!, property, path === '' ? key : `${path}.${key}`)
    return valueSchema === undefined
      ? []
      : validateListSets(value[key]!, valueSchema, `${path}[${key}]`)
  })
}

const duplicatesIn = (
  list: readonly JsonValue[],
  schema: StructuralSchema,
  path: string,
): FieldError[] => {
  const listType = schema['x-kubernetes-list-type']
  if (listType !== 'set' && listType !== 'map') return []
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const seen = new Set<string>()
  return list.flatMap((item, i) => {
    const identity =
      listType === 'set'
        ? item
        : Object.fromEntries(
            [...keys]
              .sort()
              .flatMap((k) =>
                isJsonObject(item) && Object.hasOwn(item, k) ? [[k, item[k]!]] : [],
              ),
          )
    const text = canonicalText(identity)
    if (seen.has(text)) return [duplicate(`${path}[${i}]`, identity)]
    seen.add(text)
    return []
  })
}

const canonicalText = (value: JsonValue): string =>
  JSON.stringify(value, (_key, v) =>
    typeof v === 'bigint'
      ? String(v)
      : isJsonObject(v)
        ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
        : v,
  )
