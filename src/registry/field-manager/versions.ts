/** The versions of one resource, as the field manager needs them: types, conversion, what a subresource puts back. */
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { emptyOf } from '../decode.js'
import type { ResourceDefinition } from '../resource-definition.js'
import {
  deducedType,
  type FieldType,
  fieldTypeOf,
  fieldTypeOfStructural,
  type MapType,
} from './field-type.js'
import { resetFieldsOf } from './reset-fields.js'
import { CannotConvert, type Versions } from './updater.js'

export const typeOfSchema = oncePerObject(fieldTypeOfStructural)

export const typeOfDefinition = ({
  schemaName,
  structuralSchema,
}: ResourceDefinition): FieldType => {
  if (schemaName !== undefined) return fieldTypeOf(schemaName)
  return structuralSchema === undefined ? deducedType : typeOfSchema(structuralSchema)
}

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
export const zeroObjectOf = oncePerObject(({ gvk, schemaName }: ResourceDefinition) => {
  const type = { kind: gvk.kind, apiVersion: formatGroupVersion(gvk) }
  const fields = schemaName === undefined ? {} : withoutDefaults(emptyOf(schemaName))
  return { ...(fields as JsonObject), ...type } as KubeObject
})

/**
 * The converter goes through Go types: a field that was taken away or is null is not there, and one that is always written
 * is there and empty. The keys of maps, and what is opaque, stay as they are.
 */
const asGoHolds = (object: JsonObject, type: MapType | undefined, zero: JsonObject): JsonObject => {
  const held: JsonObject = {}
  for (const [key, value] of Object.entries(object)) {
    const field = type?.field(key)
    if (value === null && field !== undefined) continue
    held[key] = valueAsGoHolds(value!, field?.type ?? type?.element, zero[key])
  }
  for (const [key, empty] of Object.entries(zero)) held[key] ??= empty
  return held
}

const valueAsGoHolds = (
  value: JsonValue,
  type: FieldType | undefined,
  zero: JsonValue | undefined,
): JsonValue => {
  if (Array.isArray(value))
    return value.map((item) => valueAsGoHolds(item, type?.list?.element, undefined))
  if (!isJsonObject(value)) return value
  return asGoHolds(value, type?.map, isJsonObject(zero) ? zero : {})
}

/** Owners may have claimed kind and apiVersion, and may take them away. Throws CannotConvert. */
const checkConvertible = (object: JsonObject, apiVersion: string): void => {
  if (!object.kind)
    throw new CannotConvert(`Object 'Kind' is missing in 'unstructured object has no kind'`)
  if (!object.apiVersion)
    throw new CannotConvert(
      `Object 'apiVersion' is missing in 'unstructured object has no version'`,
    )
  if (parseGroupVersion(apiVersion) === undefined)
    throw new CannotConvert(`unexpected GroupVersion string: ${apiVersion}`)
}

/** The versions of a built-in kind. `versionOf` finds the same resource in another version, by apiVersion. */
export const versionsOfKind = (
  definition: ResourceDefinition,
  versionOf: (apiVersion: string) => ResourceDefinition | undefined,
  subresource: string,
): Versions => {
  const own = formatGroupVersion(definition.gvk)
  const find = (apiVersion: string): ResourceDefinition | undefined =>
    apiVersion === own ? definition : versionOf(apiVersion)
  const reset = resetFieldsOf(definition, subresource)
  return {
    typeOf: (apiVersion) => {
      const found = find(apiVersion)
      return found === undefined ? undefined : typeOfDefinition(found)
    },
    convert: (object, apiVersion) => {
      checkConvertible(object, apiVersion)
      const from = find(object.apiVersion as string)
      const to = find(apiVersion)
      if (from === undefined || to === undefined) return undefined
      const type = typeOfDefinition(from).map
      const given = asGoHolds(object, type, zeroObjectOf(from)) as KubeObject
      const stored = from.convert?.toStorage(given) ?? given
      return to.convert?.fromStorage(stored) ?? stored
    },
    resetFields: () => reset,
  }
}
