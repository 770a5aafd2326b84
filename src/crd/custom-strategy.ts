/** The strategy of a custom resource version: its schema validates, its status subresource splits writes. */

import { copyWith } from '#api/copy-with.js'
import { type FieldError, invalid } from '#api/field-error.js'
import { getOwn, jsonEqual, withKeysInOrder } from '#api/json-object.js'
import { dnsSubdomainName, isQualifiedName } from '#api/names.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'
import { standardFinalizers, validateMeta } from '#registry/validate-object-meta.js'
import { Correlated } from './correlation.js'
import type { DefinitionVersion } from './definition.js'
import { validateEmbedded } from './embedded.js'
import { withKnownFormats } from './formats.js'
import { validateListSets } from './list-sets.js'
import { type Before, makeRuleChecker, rulesWereNotChecked } from './rules/check-rules.js'
import { validateScaled } from './scale.js'
import { validateValue } from './validate-value.js'

/** Spec, status and whatever else the schema has: all but what the registry checks itself. */
const contentOf = (object: KubeObject): JsonObject => {
  const { metadata, ...content } = object
  const { name, generateName } = metadata
  const named: JsonObject = {}
  if (name !== undefined) named.name = name
  if (generateName !== undefined) named.generateName = generateName
  return copyWith(content as JsonObject, { metadata: named })
}

/** What generation counts: with a status subresource everything but metadata and status, else all but metadata. */
const hasNewContent = (next: KubeObject, previous: KubeObject, hasStatus: boolean): boolean => {
  const counted = ({ metadata: _m, status, ...rest }: KubeObject) =>
    hasStatus ? rest : { ...rest, status: status ?? null }
  return !jsonEqual(counted(next), counted(previous))
}

/** Upstream writes unstructured JSON with its keys in order; metadata's own order is the encoder's. */
const sortKeys = (object: KubeObject): void => {
  const keys = Object.keys(object).filter((key) => key !== 'metadata')
  const sorted = keys.toSorted()
  const isInOrder = sorted.every((key, i) => key === keys[i])
  for (const key of sorted) {
    const value = object[key]
    if (!isInOrder) delete object[key]
    object[key] = withKeysInOrder(value as JsonValue)
  }
}

/** Where one of these is wrong, rules could not be evaluated. */
const blocksRules = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

const below = (error: FieldError): FieldError => ({ ...error, field: `status.${error.field}` })

/** A finalizer without a domain may be somebody else's as well. */
const finalizerWarnings = ({ metadata }: KubeObject, had: readonly string[]): string[] => {
  const added = [...new Set(metadata.finalizers ?? [])].filter((f) => !had.includes(f)).sort()
  const say = (name: string, why: string) => `metadata.finalizers: ${JSON.stringify(name)}: ${why}`
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
  refuseCreate?: (object: KubeObject) => Error,
): Strategy => {
  const schema = withKnownFormats(version.schema?.openAPIV3Schema ?? {})
  const hasStatus = version.subresources?.status !== undefined
  const rules = makeRuleChecker(schema)

  const scale = version.subresources?.scale

  const ruleErrors = (
    object: KubeObject,
    errors: FieldError[],
    content: JsonValue,
    before: Before | undefined,
  ): FieldError[] => {
    if (rules === undefined) return errors
    // Errors of metadata count as well; the registry tells them.
    const { metadata } = object
    const ofMeta = validateMeta(metadata, Boolean(metadata.namespace), dnsSubdomainName)
    return [...ofMeta, ...errors].some(({ type }) => blocksRules.has(type))
      ? [...errors, rulesWereNotChecked]
      : [...errors, ...rules.check(content, before)]
  }

  /** What is of another kind is asked nothing else that its schema says. */
  const kindErrors = (object: KubeObject): FieldError[] =>
    object.kind === kind ? [] : [invalid('kind', object.kind, `must be ${kind}`)]

  const checkNew = (object: KubeObject): FieldError[] => {
    const content = contentOf(object) as JsonValue
    const wrongKind = kindErrors(object)
    const errors = [
      ...(wrongKind.length > 0
        ? wrongKind
        : [...validateValue(content, schema, ''), ...validateScaled(object, scale, 'all')]),
      ...validateEmbedded(content, schema, ''),
      ...validateListSets(content, schema, ''),
    ]
    return ruleErrors(object, errors, content, undefined)
  }

  // A list that held an item twice before may go on doing so.
  const listErrors = (content: JsonValue, old: JsonValue): FieldError[] =>
    validateListSets(old, schema, '').length > 0 ? [] : validateListSets(content, schema, '')

  /** An update may keep what is invalid where it changes nothing. */
  const correlate = (next: KubeObject, previous: KubeObject): Correlated =>
    new Correlated(next as JsonObject, previous as JsonObject, schema)

  const checkUpdate: NonNullable<Strategy['validateUpdate']> = (next, previous, ctx) => {
    const content = contentOf(next) as JsonValue
    const old = contentOf(previous) as JsonValue
    const correlated = correlate(next, previous)
    const wrongKind = kindErrors(next)
    const errors = [
      ...(wrongKind.length > 0
        ? wrongKind
        : [
            ...validateValue(content, schema, '', correlated),
            ...validateScaled(next, scale, 'all'),
          ]),
      ...validateEmbedded(content, schema, ''),
      ...listErrors(content, old),
    ]
    return ruleErrors(next, errors, content, { value: old, correlated, warn: ctx.warn })
  }

  /** A write of the status is asked for its status alone, in words that start there; rules see the whole. */
  const checkStatus: NonNullable<Strategy['validateUpdate']> = (next, previous, ctx) => {
    const content = contentOf(next) as JsonValue
    const old = contentOf(previous) as JsonValue
    const statusSchema = getOwn(schema.properties, 'status')
    const status = next.status as JsonValue | undefined
    const correlated = correlate(next, previous)
    const values =
      status === undefined || statusSchema === undefined
        ? []
        : validateValue(
            status,
            statusSchema,
            '',
            correlated.key('status') ??
              new Correlated(status, previous.status as JsonValue | undefined, statusSchema),
          )
    const errors = [
      ...values.map((e) => (e.field === '<nil>' ? { ...e, field: 'status' } : below(e))),
      ...validateScaled(next, scale, 'status'),
      ...listErrors(content, old),
    ]
    return ruleErrors(next, errors, content, { value: old, correlated, warn: ctx.warn })
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
    validate: checkNew,
    warningsOnCreate: (object) => finalizerWarnings(object, []),
    prepareForUpdate: (next, previous) => {
      if (!hasStatus) return
      if (previous.status === undefined) delete next.status
      else next.status = previous.status
    },
    validateUpdate: checkUpdate,
    warningsOnUpdate: (next, previous) =>
      finalizerWarnings(next, previous.metadata.finalizers ?? []),
    canonicalize: sortKeys,
    // What a status write keeps of the rest is the registry's default.
    status: {
      validateUpdate: checkStatus,
    },
  }
}
