/** The versions of one resource, as the field manager needs them: types, conversion, what a subresource puts back. */
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { decodeType } from '../decode.js'
import type { ResourceDefinition } from '../resource-definition.js'
import { deducedType, type FieldType, fieldTypeOf, fieldTypeOfStructural } from './field-type.js'
import { resetFieldsOf } from './reset-fields.js'
import { CannotConvert, type Versions } from './updater.js'
import { mismatchOf } from './validate-typed.js'

const typesOfStructural = new WeakMap<JsonObject, FieldType>()

export const typeOfDefinition = (definition: ResourceDefinition): FieldType => {
  if (definition.schemaName !== undefined) return fieldTypeOf(definition.schemaName)
  const schema = definition.structuralSchema
  if (schema === undefined) return deducedType
  let type = typesOfStructural.get(schema)
  if (type === undefined) {
    type = fieldTypeOfStructural(schema)
    typesOfStructural.set(schema, type)
  }
  return type
}

const zeros = new WeakMap<ResourceDefinition, KubeObject>()

/** The decoder writes the schema's defaults; a scalar that is no zero value can only be one. */
const withoutDefaults = (value: JsonValue): JsonValue =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, inner]) => typeof inner === 'object' || !inner)
          .map(([key, inner]) => [key, withoutDefaults(inner)]),
      )
    : value

/** What Go has before anything is decoded into it: an object whose fields that are always written are empty. */
export const zeroObjectOf = (definition: ResourceDefinition): KubeObject => {
  const known = zeros.get(definition)
  if (known !== undefined) return known
  const { gvk, schemaName } = definition
  const type = { kind: gvk.kind, apiVersion: formatGroupVersion(gvk) }
  const fields = schemaName === undefined ? {} : withoutDefaults(decodeType(schemaName, {}).value)
  const zero = { ...(fields as JsonObject), ...type } as KubeObject
  zeros.set(definition, zero)
  return zero
}

/** The same under another name, when the schema of that version knows all of it. Throws CannotConvert. */
const renamed = (object: JsonObject, apiVersion: string, to: ResourceDefinition): JsonObject => {
  const converted = { ...object, apiVersion }
  const mismatch = mismatchOf(converted, typeOfDefinition(to), { allowDuplicates: true })
  if (mismatch !== undefined) throw new CannotConvert(mismatch)
  return converted
}

/** Upstream's converter of custom resources knows the versions of their definition, and says so of all others. Throws CannotConvert. */
const checkVersion = (
  { gvk }: ResourceDefinition,
  versions: readonly string[],
  apiVersion: string,
): void => {
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion }
  if (group !== gvk.group)
    throw new CannotConvert(
      `${formatGroupVersion(gvk)}, Kind=${gvk.kind} is unstructured and is not suitable for converting to ${JSON.stringify(apiVersion)}`,
    )
  if (!versions.includes(version))
    throw new CannotConvert(`request to convert CR to an invalid group/version: ${apiVersion}`)
}

/** `versionOf` finds the same resource in another version, by apiVersion. */
export const makeVersions = (
  definition: ResourceDefinition,
  versionOf: (apiVersion: string) => ResourceDefinition | undefined,
  subresource: string,
): Versions => {
  const own = formatGroupVersion(definition.gvk)
  const find = (apiVersion: string): ResourceDefinition | undefined =>
    apiVersion === own ? definition : versionOf(apiVersion)
  const reset = resetFieldsOf({ ...definition.gvr, ...definition }, subresource)
  return {
    typeOf: (apiVersion) => {
      const found = find(apiVersion)
      return found === undefined ? undefined : typeOfDefinition(found)
    },
    convert: (object, apiVersion) => {
      const from = find(object.apiVersion as string)
      const to = find(apiVersion)
      if (to === undefined && definition.versions !== undefined)
        checkVersion(definition, definition.versions, apiVersion)
      if (from === undefined || to === undefined) return undefined
      if (to.conversion?.isNominal === true) return renamed(object, apiVersion, to)
      const given = object as KubeObject
      const stored = from.convert?.toStorage(given) ?? given
      return to.convert?.fromStorage(stored) ?? stored
    },
    resetFields: () => reset,
  }
}
