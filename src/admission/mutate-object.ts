/** Applies the results of mutations to an object (apiserver, pkg/admission/plugin/policy/mutating/patch). */
import { ApiError, internalError, problemOfDecoding } from '#api/errors.js'
import { formatGroupVersion } from '#api/group-version.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { NotJsonError, toJson } from '#cel/json-values.js'
import { formatTimestamp } from '#cel/times.js'
import { type CelValue, MapValue, StructValue, Timestamp } from '#cel/values.js'
import type { FieldType } from '#registry/field-manager/field-type.js'
import { mergeObjects } from '#registry/field-manager/merge-typed.js'
import { fieldElement, printElement } from '#registry/field-manager/path-element.js'
import { mismatchOf } from '#registry/field-manager/validate-typed.js'
import { typeOfDefinition } from '#registry/field-manager/versions.js'
import { applyOperations, JsonPatchProblem, JsonPatchTestFailed } from '#registry/patch/json.js'
import { checkType } from './patched-type.js'
import { decodeVersion, type VersionedRequest } from './versioned-request.js'

/** A mutation that cannot be made; the message is upstream's. */
export class MutationError extends Error {}

/** Objects name their types by the path that leads to them: `Object.spec.template`. */
const typeProblems = (value: CelValue, path: readonly string[]): string[] => {
  if (Array.isArray(value)) return value.flatMap((item) => typeProblems(item, path))
  if (value instanceof MapValue)
    return value.keys().flatMap((key) => typeProblems(value.get(key)!, path))
  if (!(value instanceof StructValue)) return []
  const wanted = path.join('.')
  const own =
    value.typeName === wanted
      ? []
      : [
          `unexpected type name ${JSON.stringify(value.typeName)}, expected ${JSON.stringify(wanted)}, which matches field name path from root Object type`,
        ]
  const inner = [...value.fields].flatMap(([name, field]) => typeProblems(field, [...path, name]))
  return [...own, ...inner]
}

const checkTypeNames = (value: StructValue): void => {
  const problems = typeProblems(value, [value.typeName])
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`)
}

/** Paths of atomic values, which a configuration must not set because a merge would replace them as a whole. */
const atomicPaths = (type: FieldType, value: JsonValue, path: string): string[] => {
  if (isJsonObject(value) && type.map !== undefined) {
    const { map } = type
    return [
      ...(map.atomic ? [path] : []),
      ...Object.entries(value).flatMap(([key, inner]) =>
        atomicPaths(
          map.field(key)?.type ?? type,
          inner,
          `${path}${printElement(fieldElement(key))}`,
        ),
      ),
    ]
  }
  if (!Array.isArray(value) || type.list === undefined) return []
  const { list } = type
  return [
    ...(list.atomic ? [path] : []),
    ...value.flatMap((item, i) => atomicPaths(list.element, item, `${path}[${i}]`)),
  ]
}

/** How upstream prints a value of a configuration that JSON has no form for. */
const goValue = (value: CelValue): string | undefined => {
  if (value === null) return '&{NULL_VALUE}'
  if (value instanceof Timestamp) {
    const [date, time] = formatTimestamp(value).replace('Z', '').split('T')
    return `&{${date} ${time} +0000 UTC}`
  }
  if (!(value instanceof Uint8Array)) return undefined
  const bytes = [...value].map((byte) => `0x${byte.toString(16)}`)
  return `&value.valueUnstructured{Value:[]uint8{${bytes.join(', ')}}}`
}

/** Such a value fits no type. */
const misfit = (value: CelValue, type: FieldType | undefined, path: string): string | undefined => {
  const shown = goValue(value)
  if (shown !== undefined) {
    const scalar = type?.scalar === 'untyped' ? 'any scalar' : type?.scalar
    const wanted = type?.map !== undefined ? 'map' : type?.list !== undefined ? 'list' : scalar
    return wanted === undefined ? undefined : `${path}: expected ${wanted}, got ${shown}`
  }
  const entries: [string, CelValue][] =
    value instanceof StructValue
      ? [...value.fields]
      : value instanceof MapValue
        ? value.keys().map((key) => [String(key), value.get(key)!])
        : []
  for (const [key, inner] of entries) {
    const under = type?.map?.field(key)?.type ?? type?.map?.element
    const found = misfit(inner, under, `${path}${printElement(fieldElement(key))}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** Decoded like a body, defaults included. If that fails it is a 500, as upstream, not a client's error. */
const decoded = (request: VersionedRequest, value: JsonValue) => {
  try {
    return decodeVersion(request, value)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw internalError(problemOfDecoding(error))
  }
}

const jsonOf = (value: CelValue, what: string): JsonValue => {
  try {
    return toJson(value)
  } catch (error) {
    throw error instanceof NotJsonError ? new MutationError(`${what}: ${error.message}`) : error
  }
}

/** The object with the configuration merged into it. */
export const applyConfiguration = (
  request: VersionedRequest,
  object: KubeObject,
  result: CelValue,
): KubeObject => {
  if (!(result instanceof StructValue))
    throw new MutationError('unsupported return type from ApplyConfiguration expression')
  checkTypeNames(result)
  const { apiVersion, kind } = object
  const patch = { ...(jsonOf(result, 'invalid return type') as JsonObject), apiVersion, kind }
  const fail = (why: string): never => {
    throw new MutationError(`error applying patch: ${why}`)
  }
  const { gvk, gvr } = request.definition
  // Upstream knows the types of a version by its OpenAPI document, which tells of Scales where they are scaled, not of their own version.
  if (formatGroupVersion(gvk) !== formatGroupVersion(gvr))
    fail(
      `failed to convert patch object to typed object: no corresponding type for ${formatGroupVersion(gvk)}, Kind=${gvk.kind}`,
    )
  const type = typeOfDefinition(request.definition)
  const mismatch = misfit(result, type, '') ?? mismatchOf(patch, type, { allowDuplicates: false })
  if (mismatch !== undefined) fail(`failed to convert patch object to typed object: ${mismatch}`)
  const atomic = atomicPaths(type, patch, '')
  if (atomic.length > 0)
    fail(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    )
  const foreign = mismatchOf(object, type, { allowDuplicates: true })
  if (foreign !== undefined) fail(`failed to convert original object to typed object: ${foreign}`)
  return decoded(request, mergeObjects(object, patch, type)).object
}

const operationOf = (value: CelValue): JsonObject => {
  if (!(value instanceof StructValue))
    throw new MutationError(
      'type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch',
    )
  const { fields } = value
  const operation: JsonObject = {
    op: String(fields.get('op') ?? ''),
    path: String(fields.get('path') ?? ''),
  }
  const from = fields.get('from')
  if (from) operation.from = String(from)
  const given = fields.get('value')
  if (given === undefined) return operation
  if (given instanceof StructValue) checkTypeNames(given)
  operation.value = jsonOf(
    given,
    'JSONPath valueExpression evaluated to a type that could not marshal to JSON',
  )
  return operation
}

/** The object with the operations applied; unchanged if a `test` fails. */
export const applyJsonPatches = (
  request: VersionedRequest,
  object: KubeObject,
  result: CelValue,
): KubeObject => {
  if (!Array.isArray(result))
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array')
  const operations = result.map(operationOf)
  let patched: JsonValue
  try {
    patched = applyOperations(object, operations)
  } catch (error) {
    if (error instanceof JsonPatchTestFailed) return object
    if (error instanceof JsonPatchProblem) throw new MutationError(`JSON Patch: ${error.message}`)
    throw error
  }
  checkType(request.definition, patched)
  const { object: next, strictErrors } = decoded(request, patched)
  // The decoder assumes a missing apiVersion; for a custom resource nothing can be assumed.
  if (request.definition.isCustom && !(patched as JsonObject).apiVersion) next.apiVersion = ''
  if (strictErrors.length > 0)
    throw internalError(`strict decoding error: ${strictErrors.join(', ')}`)
  return next
}
