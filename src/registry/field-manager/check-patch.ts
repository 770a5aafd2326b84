/** What an apply is sent, and how upstream names it in its errors. */
import { badRequest, failure } from '#api/errors.js'
import {
  formatGroupVersion,
  formatGroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { problemOf } from '../patch/convertible.js'
import type { ResourceDefinition } from '../resource-definition.js'
import type { FieldType } from './field-type.js'
import { mismatchOf } from './validate-typed.js'

/** `<namespace>/<name>; <group>/<version>, Kind=<kind>`, as upstream names an object in its errors. */
export const describeObject = (object: JsonObject, { gvk }: ResourceDefinition): string => {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {}
  // Anything but a text counts as the empty text.
  const textOf = (value: JsonValue | undefined) => (typeof value === 'string' ? value : '')
  return `${textOf(metadata.namespace)}/${textOf(metadata.name)}; ${formatGroupVersionKind(gvk)}`
}

const printKind = (patch: JsonObject): string => {
  const apiVersion = typeof patch.apiVersion === 'string' ? patch.apiVersion : ''
  const gv = parseGroupVersion(apiVersion)
  // An apiVersion that cannot be read takes the kind along.
  if (gv === undefined) return '/, Kind='
  return formatGroupVersionKind({ ...gv, kind: typeof patch.kind === 'string' ? patch.kind : '' })
}

/** Comes before all else. Throws ApiError (400). */
export const checkKind = ({ gvk }: ResourceDefinition, patch: JsonObject): void => {
  if (patch.apiVersion !== formatGroupVersion(gvk) || patch.kind !== gvk.kind)
    throw badRequest(`invalid object type: ${printKind(patch)}`)
}

const problemOfEntry = (value: JsonValue): string | undefined =>
  problemOf(value, 'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry')

const isManagedFieldsEntry = (value: JsonValue): boolean =>
  isJsonObject(value) && problemOfEntry(value) === undefined

/**
 * Entries that fit the schema but not their Go type (any text is a time to the schema) are only found after the merge:
 * 500.
 */
export const checkEntries = (definition: ResourceDefinition, patch: JsonObject): void => {
  const { metadata } = patch
  const entries = isJsonObject(metadata) ? metadata.managedFields : undefined
  if (definition.isCustom || !Array.isArray(entries)) return
  const problem = entries.map(problemOfEntry).find((why) => why !== undefined)
  if (problem === undefined) return
  throw failure({
    code: 500,
    message: `failed to convert new object (${describeObject(patch, definition)}) to proper version: unable to convert unstructured object to ${formatGroupVersionKind(definition.gvk)}: ${problem}`,
  })
}

/** Throws ApiError: 400 for what an applied configuration may not say, 500 for what does not fit its schema. */
export const checkPatch = (
  definition: ResourceDefinition,
  patch: JsonObject,
  type: FieldType,
): void => {
  const metadata = patch.metadata
  const entries = isJsonObject(metadata) ? metadata.managedFields : undefined
  // A list of anything but entries is none to upstream's accessor.
  if (Array.isArray(entries) && entries.every(isManagedFieldsEntry)) {
    throw badRequest('metadata.managedFields must be nil')
  }
  const mismatch = mismatchOf(patch, type, { allowDuplicates: false })
  if (mismatch !== undefined) {
    throw failure({
      code: 500,
      message: `failed to create typed patch object (${describeObject(patch, definition)}): ${mismatch}`,
    })
  }
}
