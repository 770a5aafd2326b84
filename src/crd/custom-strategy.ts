/** The strategy of a custom resource version: its schema validates, its status subresource splits writes. */

import type { FieldError } from '#api/field-error.js'
import { jsonEqual, withKeysInOrder } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'
import type { DefinitionVersion } from './definition.js'
import { validateEmbedded } from './embedded.js'
import { onlyChanged } from './ratcheting.js'
import { makeRuleChecker, rulesWereNotChecked } from './rules/check-rules.js'
import type { StructuralSchema } from './structural-schema.js'
import { validateListSets, validateValue } from './validate-value.js'

/** Spec, status and whatever else the schema has: all but what the registry checks itself. */
const contentOf = (object: KubeObject): JsonObject => {
  const { metadata, ...content } = object
  const { name, generateName } = metadata
  return {
    ...content,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(generateName === undefined ? {} : { generateName }),
    },
  } as JsonObject
}

/** What generation counts: with a status subresource everything but metadata and status, else all but metadata. */
const hasNewContent = (next: KubeObject, previous: KubeObject, hasStatus: boolean): boolean => {
  const counted = ({ metadata: _m, status, ...rest }: KubeObject) =>
    hasStatus ? rest : { ...rest, status: status ?? null }
  return !jsonEqual(counted(next), counted(previous))
}

/** Upstream writes unstructured JSON with its keys in order; metadata's own order is the encoder's. */
const sortKeys = (object: KubeObject): void => {
  const { managedFields } = object.metadata
  for (const key of Object.keys(object).sort()) {
    const value = object[key]
    if (key === 'metadata') continue
    delete object[key]
    object[key] = withKeysInOrder(value as JsonValue)
  }
  if (managedFields !== undefined)
    object.metadata.managedFields = withKeysInOrder(
      managedFields as JsonValue,
    ) as typeof managedFields
}

export const customStrategy = (
  version: DefinitionVersion,
  refuseCreate?: (object: KubeObject) => Error,
): Strategy => {
  const schema: StructuralSchema = version.schema?.openAPIV3Schema ?? {}
  const hasStatus = version.subresources?.status !== undefined
  const rules = makeRuleChecker(schema)

  const check = (next: KubeObject, previous?: KubeObject): FieldError[] => {
    const content = contentOf(next) as JsonValue
    const old = previous === undefined ? undefined : (contentOf(previous) as JsonValue)
    let errors = [
      ...validateValue(content, schema, ''),
      ...validateListSets(content, schema, ''),
      ...validateEmbedded(content, schema, ''),
    ]
    if (old !== undefined) errors = onlyChanged(errors, { next: content, previous: old, schema })
    if (rules === undefined) return errors
    if (errors.length > 0) return [...errors, rulesWereNotChecked]
    return rules.check(content, old)
  }

  return {
    knownFinalizerNames: false,
    allowUnconditionalUpdate: false,
    metadataRevalidation: 'change',
    generation: (next, previous) => hasNewContent(next, previous, hasStatus),
    prepareForCreate: (object) => {
      if (refuseCreate !== undefined) throw refuseCreate(object)
      if (hasStatus) delete object.status
    },
    validate: (object) => check(object),
    prepareForUpdate: (next, previous) => {
      if (!hasStatus) return
      if (previous.status === undefined) delete next.status
      else next.status = previous.status
    },
    validateUpdate: (next, previous) => check(next, previous),
    canonicalize: sortKeys,
    // What a status write keeps of the rest is the registry's default.
    status: {
      validateUpdate: (next, previous) => check(next, previous),
    },
  }
}
