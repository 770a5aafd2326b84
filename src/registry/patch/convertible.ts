/**
 * Whether a patched document fits its Go type, in the words of upstream's converter from unstructured (apimachinery,
 * pkg/runtime/converter.go), which differ from those of its JSON decoder.
 */
import { failure } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { printedBase64Problem } from '../decode/explain.js'
import { goKindNameOf, goTypeOf } from './go-print.js'
import type { PatchType } from './patch-type.js'

/** Throws the 422 that names the patch as its field; `printPatch` is called only then. */
export const checkConvertible = (
  document: JsonObject,
  type: PatchType,
  printPatch: () => string,
): void => {
  const problem = problemOf(document, type)
  if (problem === undefined) return
  const error = invalid('patch', printPatch(), problem)
  throw failure({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: ${error.field}: ${error.body}`,
    details: { causes: [{ reason: error.type, message: error.body, field: error.field }] },
  })
}

/** Why the converter refuses the value, if it does. Types that decode themselves are left to the decoder. */
export const problemOf = (value: JsonValue | undefined, type: PatchType): string | undefined => {
  if (value === null || value === undefined) return undefined
  switch (type.kind) {
    case 'struct':
      return problemOfStruct(value, type)
    case 'map':
      if (!isJsonObject(value)) return `cannot restore map from ${goKindNameOf(value)}`
      return firstProblem(Object.values(value), type.element())
    case 'slice':
      if (!Array.isArray(value)) return `cannot restore slice from ${goKindNameOf(value)}`
      return firstProblem(value, type.element())
    case 'bytes':
      return problemOfBytes(value)
    case 'quantity':
      return problemOfQuantity(value)
    case 'time':
    case 'custom':
      return undefined
    default:
      return problemOfScalar(value, type.kind)
  }
}

const firstProblem = (values: JsonValue[], type: PatchType): string | undefined => {
  for (const value of values) {
    const problem = problemOf(value, type)
    if (problem !== undefined) return problem
  }
  return undefined
}

const problemOfStruct = (value: JsonValue, type: PatchType): string | undefined => {
  if (type.fieldNames.length === 0) return undefined // FieldsV1, RawExtension, JSON: whatever comes
  if (!isJsonObject(value)) return `cannot restore struct from: ${goKindNameOf(value)}`
  for (const key of type.fieldNames) {
    if (!Object.hasOwn(value, key)) continue
    const problem = problemOf(value[key], type.field(key)!.type)
    if (problem !== undefined) return problem
  }
  return undefined
}

const problemOfBytes = (value: JsonValue): string | undefined => {
  if (typeof value !== 'string') {
    return Array.isArray(value) ? undefined : `cannot restore slice from ${goKindNameOf(value)}`
  }
  const text = value.replace(/[\r\n]/g, '')
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
  return isBase64 ? undefined : `error decoding from json: ${printedBase64Problem(text)}`
}

const problemOfQuantity = (value: JsonValue): string | undefined => {
  if (typeof value === 'number' || typeof value === 'bigint') return undefined
  const pattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/
  if (typeof value === 'string' && pattern.test(value)) return undefined
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
}

const problemOfScalar = (value: JsonValue, wanted: string): string | undefined => {
  const given = goTypeOf(value)
  if (given === wanted) return undefined
  const isInteger = wanted === 'int32' || wanted === 'int64'
  if (given === 'int64' && (isInteger || wanted === 'float64')) return undefined
  if (given === 'int64' && wanted === 'string') return 'cannot convert int64 to string'
  if (given === 'float64' && isInteger) return `cannot convert float64 to ${wanted}`
  return `unrecognized type: ${wanted}`
}

const int32 = (value: JsonValue): JsonValue =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
    ? Number(BigInt.asIntN(32, BigInt(value)))
    : value

/** The converter lets integers overflow, where the decoder refuses them: a copy in which they have done so. */
export const overflown = (value: JsonValue | undefined, type: PatchType): JsonValue | undefined => {
  if (value === null || value === undefined) return value
  if (type.kind === 'int32') return int32(value)
  if (type.kind === 'slice' && Array.isArray(value))
    return value.map((entry) => overflown(entry, type.element()) ?? null)
  const inner = (key: string): PatchType | undefined =>
    type.kind === 'map'
      ? type.element()
      : type.kind === 'struct'
        ? type.field(key)?.type
        : undefined
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const of = inner(key)
      return [key, of === undefined ? entry : (overflown(entry, of) ?? null)]
    }),
  )
}
