/**
 * Whether a patched document fits its Go type, in the words of upstream's converter from unstructured (apimachinery,
 * pkg/runtime/converter.go), which differ from those of its JSON decoder.
 */

import { goKindOf } from '#api/decoder-texts.js'
import { failure } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { canonicalBase64 } from '#go/base64.js'
import { writtenText } from '#json/as-written.js'
import { int64Of } from '#json/int64.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { customProblem, readCustom } from '../decode/custom.js'
import { printedBase64Problem } from '../decode/explain.js'
import { type CustomType, type GoType, goFieldsOf, goTypeOfKey } from '../decode/go-type.js'
import { goKindNameOf, goTypeOf } from '../go-print.js'

/** Throws the 422 that names the patch as its field; `printPatch` is called only then. */
export const checkConvertible = (
  document: JsonObject,
  schemaName: string,
  printPatch: () => string,
): void => {
  const problem = problemOf(document, schemaName)
  if (problem === undefined) return
  const error = invalid('patch', printPatch(), problem)
  throw failure({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: ${error.field}: ${error.body}`,
    details: { causes: [{ reason: error.type, message: error.body, field: error.field }] },
  })
}

/** Why the converter refuses an object of the type, if it does. */
export const problemOf = (value: JsonValue, schemaName: string): string | undefined =>
  problemOfValue(value, goTypeOfKey(goTypeName(schemaName)))

const problemOfValue = (value: JsonValue, type: GoType): string | undefined => {
  if (value === null) return undefined
  switch (type.form) {
    case 'struct':
      return problemOfStruct(value, type.key)
    case 'map':
      if (!isJsonObject(value)) return `cannot restore map from ${goKindNameOf(value)}`
      return firstProblem(Object.values(value), type.value)
    case 'slice':
      if (!Array.isArray(value)) return `cannot restore slice from ${goKindNameOf(value)}`
      return firstProblem(value, type.item)
    case 'bytes':
      return problemOfBytes(value)
    case 'custom':
      return type.custom === 'Quantity'
        ? problemOfQuantity(value)
        : problemOfOwnReader(value, type.custom)
    default:
      return problemOfScalar(value, type)
  }
}

const firstProblem = (values: JsonValue[], type: GoType): string | undefined => {
  for (const value of values) {
    const problem = problemOfValue(value, type)
    if (problem !== undefined) return problem
  }
  return undefined
}

const problemOfStruct = (value: JsonValue, key: string): string | undefined => {
  if (!isJsonObject(value)) return `cannot restore struct from: ${goKindNameOf(value)}`
  for (const field of goFieldsOf(key)) {
    if (!Object.hasOwn(value, field.name)) continue
    const problem = problemOfValue(value[field.name]!, field.type)
    if (problem !== undefined) return problem
  }
  return undefined
}

const byte: GoType = { form: 'scalar', name: 'uint8', scalar: 'int32' }

const problemOfBytes = (value: JsonValue): string | undefined => {
  if (Array.isArray(value)) return firstProblem(value, byte)
  if (typeof value !== 'string') return `cannot restore slice from ${goKindNameOf(value)}`
  return canonicalBase64(value) === undefined
    ? `error decoding from json: ${printedBase64Problem(value)}`
    : undefined
}

/** A type that reads its own JSON refuses a value in the decoder's words, without a path. */
const problemOfOwnReader = (given: JsonValue, custom: CustomType): string | undefined => {
  const literal = writtenText(given)
  const value = literal === undefined ? given : (JSON.parse(literal) as JsonValue)
  if (readCustom[custom](value, literal) !== undefined) return undefined
  const problem = customProblem(custom, value)
  if ('text' in problem) return problem.text
  const isNumber = typeof value === 'number' && problem.expected === 'int32'
  const what = isNumber ? `number ${literal ?? value}` : goKindOf(value)
  return `json: cannot unmarshal ${what} into Go value of type ${problem.expected}`
}

const problemOfQuantity = (value: JsonValue): string | undefined => {
  if (['int64', 'float64'].includes(goTypeOf(value))) return undefined
  const pattern = /^[+-]?[0-9.]+(?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?$/
  if (typeof value === 'string' && pattern.test(value)) return undefined
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
}

/** Numbers become numbers as far as they stay what they are; Go could make a string of a whole one, and upstream does not. */
const problemOfScalar = (
  value: JsonValue,
  { scalar, name }: Extract<GoType, { form: 'scalar' }>,
): string | undefined => {
  const given = goTypeOf(value)
  if (given === scalar) return undefined
  const isInteger = scalar === 'int32' || scalar === 'int64'
  if (given === 'int64' && (isInteger || scalar === 'float64')) return undefined
  if (given === 'int64' && scalar === 'string') return `cannot convert int64 to ${name}`
  if (given === 'float64' && isInteger)
    return Number.isInteger(Number(writtenText(value) ?? value))
      ? undefined
      : `cannot convert float64 to ${name}`
  return `unrecognized type: ${name === byte.name ? name : scalar}`
}

const isWhole = (value: JsonValue): value is number | bigint =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))

/** A float beyond an int64 is the lowest of them on the processors that Kubernetes runs on. */
const asInt64 = (value: number | bigint): bigint => {
  const big = BigInt(value)
  return BigInt.asIntN(64, big) === big ? big : -(2n ** 63n)
}

/** The converter lets integers overflow, where the decoder refuses them: a copy in which they have done so. */
export const overflown = (value: JsonValue, schemaName: string): JsonValue =>
  overflownValue(value, goTypeOfKey(goTypeName(schemaName)))

const overflownValue = (value: JsonValue, type: GoType): JsonValue => {
  if (value === null) return null
  if (type.form === 'scalar') {
    if (!isWhole(value)) return value
    if (type.scalar === 'int64') return int64Of(asInt64(value))
    return type.scalar === 'int32' ? Number(BigInt.asIntN(32, asInt64(value))) : value
  }
  if (type.form === 'bytes')
    return Array.isArray(value)
      ? value.map((item) => (isWhole(item) ? Number(BigInt.asUintN(8, asInt64(item))) : item))
      : value
  if (type.form === 'slice' && Array.isArray(value))
    return value.map((item) => overflownValue(item, type.item))
  if (!isJsonObject(value)) return value
  if (type.form === 'map') return mapValues(value, () => type.value)
  if (type.form !== 'struct') return value
  const types = new Map(goFieldsOf(type.key).map((field) => [field.name, field.type]))
  return mapValues(value, (key) => types.get(key))
}

const mapValues = (value: JsonObject, typeOf: (key: string) => GoType | undefined): JsonObject => {
  const entries = Object.entries(value).map(([key, item]): [string, JsonValue] => {
    const type = typeOf(key)
    return [key, type === undefined ? item : overflownValue(item, type)]
  })
  return Object.fromEntries(entries)
}
