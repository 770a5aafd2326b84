/** A request in the version that a rule names: its objects are converted, and back when they were changed (apiserver, pkg/admission/conversion.go). */
import { ApiError, internalError, problemOfDecoding } from '#api/errors.js'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { replaceFields } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { bodyDefinition } from '#registry/body-definition.js'
import { type Decoded, decodeMade } from '#registry/decode.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { checkVersion } from './patched-type.js'

/** The served versions of what is stored in one place, this one among them. */
export type EquivalentsOf = (definition: ResourceDefinition) => readonly ResourceDefinition[]

export interface VersionedRequest extends AdmissionAttributes {
  /** The request as it came in. */
  readonly original: AdmissionAttributes
}

/** A subresource may have a kind of its own, which is no version of its parent. */
const isParentsKind = ({ kind, definition }: AdmissionAttributes): boolean =>
  kind.kind === definition.gvk.kind && kind.group === definition.gvk.group

/** What admission is given is in the stored version for a built-in kind, and in that of the request for a custom one. */
const convert = async (
  object: KubeObject,
  from: ResourceDefinition,
  to: { readonly definition: ResourceDefinition; readonly apiVersion: string },
): Promise<KubeObject> => {
  const { definition, apiVersion } = to
  if (object.apiVersion === apiVersion) return object
  if (definition.isCustom)
    return definition.conversion?.convert(object, apiVersion) ?? { ...object, apiVersion }
  const isStored = object.apiVersion === formatGroupVersion(definition.storageVersion)
  const stored = isStored ? object : (from.convert?.toStorage(object) ?? object)
  const isWanted = apiVersion === formatGroupVersion(definition.storageVersion)
  return isWanted ? stored : (definition.convert?.fromStorage(stored) ?? stored)
}

const subresourceOf = (definition: ResourceDefinition, { subresource }: AdmissionAttributes) =>
  definition.subresources.find(({ name }) => name === subresource)

const kindIn = (definition: ResourceDefinition, attributes: AdmissionAttributes) =>
  definition === attributes.definition
    ? attributes.kind
    : (subresourceOf(definition, attributes)?.kind ?? definition.gvk)

/** Rejects if a conversion webhook fails. */
export const inVersion = async (
  attributes: AdmissionAttributes,
  definition: ResourceDefinition,
): Promise<VersionedRequest> => {
  const apiVersion = formatGroupVersion(definition.gvk)
  const seen = async (object: KubeObject | undefined) =>
    object === undefined || !isParentsKind(attributes)
      ? object
      : convert(object, attributes.definition, { definition, apiVersion })
  return {
    ...attributes,
    definition: bodyDefinition(definition, subresourceOf(definition, attributes)),
    kind: kindIn(definition, attributes),
    resource: definition.gvr,
    object: await seen(attributes.object),
    oldObject: await seen(attributes.oldObject),
    original: attributes,
  }
}

/**
 * The result of a change, decoded in its version like a body, defaults included. Throws a 500 for what cannot be decoded:
 * it is no error of the client's.
 */
export const decodeVersion = ({ definition }: VersionedRequest, value: JsonValue): Decoded => {
  try {
    return decodeMade(definition, value)
  } catch (error) {
    throw error instanceof ApiError ? internalError(problemOfDecoding(error)) : error
  }
}

/** Brings what was changed in the rule's version back to the object that came in. Rejects with an ApiError (500). */
export const writeBack = async ({
  object,
  definition,
  original,
}: VersionedRequest): Promise<void> => {
  const target = original.object
  if (object === undefined || target === undefined || object === target) return
  const { apiVersion } = target
  if (object.apiVersion === apiVersion) return replaceFields(target, object)
  const stored = original.definition
  if (stored.isCustom) checkVersion(object, stored)
  const next = await convert(object, definition, { definition: stored, apiVersion })
  replaceFields(target, stored.isCustom ? decodeMade(stored, next).object : next)
}
