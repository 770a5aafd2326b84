/** The scale subresource of a custom resource: autoscaling/v1 Scale over three JSON paths of the definition. */
import { badRequest, failure, internalError } from '#api/errors.js'
import { type FieldError, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { formatDouble } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { getOwn, isJsonObject, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { isWholeFloat } from '#registry/decode/whole-floats.js'
import { goPrint, goTypeOf } from '#registry/go-print.js'
import type { Subresource } from '#registry/resource-definition.js'
import { scaleTable } from '#registry/scale-table.js'
import type { DefinitionVersion } from './definition/definition.js'

type ScalePaths = NonNullable<NonNullable<DefinitionVersion['subresources']>['scale']>

/** Fields on the way of a simple JSON path. */
export const namesIn = (path: string): string[] => path.split('.').slice(1)

const valueAt = (object: JsonValue, path: string): JsonValue | undefined => {
  let at: JsonValue | undefined = object
  for (const name of namesIn(path)) at = isJsonObject(at) ? getOwn(at, name) : undefined
  return at
}

/** Makes what is missing on the way; what is there and no object, null too, is an error (unstructured.SetNestedField). */
const setAt = (object: JsonObject, path: string, value: JsonValue): void => {
  const names = namesIn(path)
  let at = object
  for (const [i, name] of names.slice(0, -1).entries()) {
    const inner = getOwn(at, name)
    if (inner !== undefined && !isJsonObject(inner)) {
      const place = names.slice(0, i + 1).join('.')
      const message = `value cannot be set because .${place} is not a map[string]interface{}`
      throw failure({ code: 500, message })
    }
    const next = inner ?? {}
    setOwn(at, name, next)
    at = next
  }
  setOwn(at, names.at(-1)!, value)
}

interface Found {
  readonly value?: JsonValue | undefined
  /** A whole number that was written as a float, which it is until it is stored. */
  readonly isFloat?: boolean
  /** Why the path cannot be followed: something on the way is not an object. */
  readonly problem?: string
}

const accessorError = (
  names: readonly string[],
  { value = null, isFloat }: Found,
  wanted: string,
): string => {
  const [text, type] = isFloat
    ? [formatDouble(value as number), 'float64']
    : [goPrint(value), value === null ? '<nil>' : goTypeOf(value)]
  return `.${names.join('.')} accessor error: ${text} is of the type ${type}, expected ${wanted}`
}

/** What is at a path (unstructured.NestedFieldNoCopy). */
const nestedAt = (object: KubeObject, names: readonly string[]): Found => {
  let at: JsonValue = object
  let isFloat = false
  for (const [i, name] of names.entries()) {
    if (at === null) return {}
    if (!isJsonObject(at))
      return {
        problem: accessorError(names.slice(0, i + 1), { value: at }, 'map[string]interface{}'),
      }
    const inner: JsonValue | undefined = getOwn(at, name)
    if (inner === undefined) return {}
    isFloat = isWholeFloat(at, name)
    at = inner
  }
  return { value: at, isFloat }
}

/** The integer at a path; a text says why there is none where something else is (unstructured.NestedInt64). */
const integerAt = (object: KubeObject, path: string): number | bigint | string | undefined => {
  const names = namesIn(path)
  const found = nestedAt(object, names)
  const { value, isFloat, problem } = found
  if (problem !== undefined || value === undefined) return problem
  const isInteger = !isFloat && (typeof value === 'bigint' || Number.isSafeInteger(value))
  return isInteger ? (value as number | bigint) : accessorError(names, found, 'int64')
}

/** Why there is no text at a path where something else is (unstructured.NestedString). */
const textProblem = (object: KubeObject, path: string): string | undefined => {
  const names = namesIn(path)
  const found = nestedAt(object, names)
  const { value, problem } = found
  if (problem !== undefined || value === undefined) return problem
  return typeof value === 'string' ? undefined : accessorError(names, found, 'string')
}

const numberAt = (object: KubeObject, path: string): number | undefined => {
  const value = integerAt(object, path)
  if (typeof value === 'string') throw internalError(value)
  return value === undefined ? undefined : Number(value)
}

const int32Max = 2 ** 31 - 1

const countErrors = (object: KubeObject, path: string): FieldError[] => {
  const value = integerAt(object, path)
  if (typeof value === 'string') return [invalid(path, 0, value)]
  if (value === undefined) return []
  if (value < 0) return [invalid(path, value, 'should be a non-negative integer')]
  return value > int32Max
    ? [invalid(path, value, `should be less than or equal to ${int32Max}`)]
    : []
}

/** The parts of an object that its scale reads must have the types that it reads. */
export const validateScaled = (
  object: KubeObject,
  paths: ScalePaths | undefined,
  part: 'all' | 'status',
): FieldError[] => {
  if (paths === undefined) return []
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = paths
  const errors = part === 'all' ? countErrors(object, specReplicasPath!) : []
  errors.push(...countErrors(object, statusReplicasPath!))
  const problem = labelSelectorPath && textProblem(object, labelSelectorPath)
  if (problem) errors.push(invalid(labelSelectorPath, '', problem))
  return errors
}

// The smallest int32: replicas that were neither there nor are written.
const noReplicas = -(2 ** 31)

export const scaleSubresource = (paths: ScalePaths): Subresource => {
  const specPath = paths.specReplicasPath!
  const toScale = (parent: KubeObject, missing: number): KubeObject => {
    const replicas = numberAt(parent, specPath) ?? missing
    const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata
    // An object of the cluster has no namespace, and one that was sent without a version has none yet.
    const place = namespace === undefined ? {} : { namespace }
    const version = resourceVersion === undefined ? {} : { resourceVersion }
    const selector = paths.labelSelectorPath && valueAt(parent, paths.labelSelectorPath)
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, ...place, uid, ...version, creationTimestamp },
      spec: replicas === 0 ? {} : { replicas },
      status: {
        replicas: numberAt(parent, paths.statusReplicasPath!) ?? 0,
        ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
      },
    }
  }
  return {
    name: 'scale',
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    verbs: ['get', 'patch', 'update'],
    style: 'view',
    table: scaleTable(true),
    read: (parent) => toScale(parent, 0),
    readForWrite: (parent) => toScale(parent, noReplicas),
    refuseRead: (parent) =>
      numberAt(parent, specPath) === undefined
        ? internalError(`the spec replicas field ${goQuote(specPath)} does not exist`)
        : undefined,
    write: (parent, next) => {
      const replicas = (next.spec as { replicas?: number } | undefined)?.replicas ?? 0
      if (replicas === noReplicas)
        throw badRequest(`the spec replicas field ${goQuote(specPath)} cannot be empty`)
      setAt(parent, specPath, replicas)
      return parent
    },
  }
}
