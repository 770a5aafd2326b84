/** The strategy of a custom resource version: its schema validates, its status subresource splits writes. */

import { isQualifiedName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { jsonEqual, setOwn, withKeysInOrder } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { holdsWholeFloat } from '#registry/decode/whole-floats.js'
import type { Strategy } from '#registry/resource-definition.js'
import { standardFinalizers } from '#registry/validate-object-meta.js'
import { CustomValidator } from './custom-validator.js'
import type { DefinitionVersion } from './definition/definition.js'

/**
 * Whether the generation grows: by changes outside metadata, and outside status if there is a status subresource. A whole
 * number that is written as a float is one each time, since an integer was stored.
 */
const hasNewContent = (next: KubeObject, previous: KubeObject, hasStatus: boolean): boolean => {
  const counted = ({ metadata: _m, status, ...rest }: KubeObject) =>
    hasStatus ? rest : { ...rest, status: status ?? null }
  const given = counted(next)
  return !jsonEqual(given, counted(previous)) || holdsWholeFloat(given)
}

/** Upstream writes unstructured JSON with its keys in order; metadata's own order is the encoder's. */
const sortKeys = (object: KubeObject): void => {
  const keys = Object.keys(object).filter((key) => key !== 'metadata')
  const sorted = keys.toSorted()
  const isInOrder = sorted.every((key, i) => key === keys[i])
  for (const key of sorted) {
    const value = object[key]
    if (!isInOrder) delete object[key]
    setOwn(object, key, withKeysInOrder(value as JsonValue))
  }
}

/** Finalizers without a domain may clash. */
const finalizerWarnings = ({ metadata }: KubeObject, had: readonly string[]): string[] => {
  const known = new Set(had)
  const added = [...new Set(metadata.finalizers ?? [])].filter((f) => !known.has(f)).sort()
  const say = (name: string, why: string) => `metadata.finalizers: ${goQuote(name)}: ${why}`
  return added.flatMap((name) => {
    const path = name.includes('.') ? ' including a path (/)' : ''
    const why = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`
    return [
      ...isQualifiedName(name).map((wrong) => say(name, wrong)),
      ...(name.includes('/') || standardFinalizers.has(name) ? [] : [say(name, why)]),
    ]
  })
}

export const customStrategy = (
  version: DefinitionVersion,
  kind: string,
  refuseCreate?: (name: string) => Error,
): Strategy => {
  const hasStatus = version.subresources?.status !== undefined
  const validator = new CustomValidator(version, kind)
  return {
    knownFinalizerNames: false,
    allowUnconditionalUpdate: false,
    metadataRevalidation: 'change',
    generation: (next, previous) => hasNewContent(next, previous, hasStatus),
    ...(refuseCreate && { refuseCreate }),
    prepareForCreate: (object) => {
      if (hasStatus) delete object.status
    },
    validate: (object) => validator.validate(object),
    warningsOnCreate: (object) => finalizerWarnings(object, []),
    prepareForUpdate: (next, previous) => {
      if (!hasStatus) return
      if (previous.status === undefined) delete next.status
      else next.status = previous.status
    },
    validateUpdate: (next, previous, ctx) => validator.validateUpdate(next, previous, ctx),
    warningsOnUpdate: (next, previous) =>
      finalizerWarnings(next, previous.metadata.finalizers ?? []),
    canonicalize: sortKeys,
    // A status write keeps the rest, by the registry's default.
    status: {
      validateUpdate: (next, previous, ctx) => validator.validateStatus(next, previous, ctx),
    },
  }
}
