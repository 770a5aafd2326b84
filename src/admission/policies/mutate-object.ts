/** Applies the results of mutations to an object (apiserver, pkg/admission/plugin/policy/mutating/patch). */
import { internalError } from '#api/errors.js'
import {
  formatGroupVersion,
  formatGroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { NotJsonError, toJson } from '#cel/json-values.js'
import { type CelValue, MapValue, StructValue } from '#cel/values.js'
import { goQuote } from '#go/quote.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import type { FieldType } from '#registry/field-manager/field-type.js'
import { mergeObjects } from '#registry/field-manager/merge-typed.js'
import { fieldElement, printElement } from '#registry/field-manager/path-element.js'
import { mismatchOf } from '#registry/field-manager/validate-typed.js'
import { typeOfDefinition } from '#registry/field-manager/versions.js'
import { overflown, problemOf } from '#registry/patch/convertible.js'
import { applyOperations, JsonPatchProblem, JsonPatchTestFailed } from '#registry/patch/json.js'
import { checkType, foreignKindProblem } from '../patched-type.js'
import { decodeVersion, type VersionedRequest } from '../versioned-request.js'
import { hasForeignKeys, misfit, withTypeNames } from './configuration-values.js'

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
          `unexpected type name ${goQuote(value.typeName)}, expected ${JSON.stringify(wanted)}, which matches field name path from root Object type`,
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

const jsonOf = (value: CelValue, what: string): JsonValue => {
  try {
    return toJson(value)
  } catch (error) {
    throw error instanceof NotJsonError ? new MutationError(`${what}: ${error.message}`) : error
  }
}

/** What was merged has no JSON: upstream converts it to the type of the version, in which integers overflow. */
const converted = (request: VersionedRequest, merged: JsonObject): KubeObject => {
  const { gvk, schemaName } = request.definition
  if (schemaName === undefined) return decodeVersion(request, merged).object
  const problem = problemOf(merged, schemaName)
  if (problem !== undefined)
    throw new MutationError(
      `unable to convert unstructured object to ${formatGroupVersionKind(gvk)}: ${problem}`,
    )
  return decodeVersion(request, overflown(merged, schemaName)).object
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
  if (hasForeignKeys(result)) throw new MutationError('invalid return type: *dynamic.ObjectVal')
  const configuration = withTypeNames(result)
  const { apiVersion, kind } = object
  const patch = {
    ...(jsonOf(configuration, 'invalid return type') as JsonObject),
    apiVersion,
    kind,
  }
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
  const mismatch =
    misfit(configuration, type, '') ?? mismatchOf(patch, type, { allowDuplicates: false })
  if (mismatch !== undefined) fail(`failed to convert patch object to typed object: ${mismatch}`)
  const atomic = atomicPaths(type, patch, '')
  if (atomic.length > 0)
    fail(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    )
  const foreign = mismatchOf(object, type, { allowDuplicates: true })
  if (foreign !== undefined) fail(`failed to convert original object to typed object: ${foreign}`)
  return converted(request, mergeObjects(object, patch, type))
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

/** An object of another group is refused where it is made, one of the group when all mutations are done. */
const foreignKind = ({ definition }: VersionedRequest, patched: JsonObject): Error => {
  const problem = foreignKindProblem(definition, patched, true)
  const { group } = parseGroupVersion(patched.apiVersion as string)!
  return group === definition.gvk.group
    ? internalError(`failed to convert object: ${problem}`)
    : new MutationError(problem)
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
  const foreign = checkType(request.definition, patched)
  if (foreign !== undefined) throw foreignKind(request, foreign)
  const { object: next, strictErrors } = decodeVersion(request, patched)
  // The decoder assumes a missing apiVersion; for a custom resource nothing can be assumed.
  if (request.definition.isCustom && !(patched as JsonObject).apiVersion) next.apiVersion = ''
  if (strictErrors.length > 0)
    throw internalError(`strict decoding error: ${strictErrors.join(', ')}`)
  return next
}
