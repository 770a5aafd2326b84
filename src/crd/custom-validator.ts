/** Validates writes of one version of a custom resource: schema, embedded objects, list types, scale paths and rules. */

import { type FieldError, invalid } from '#api/field-error.js'
import { dnsSubdomainName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import { getOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { validateMeta } from '#registry/validate-object-meta.js'
import { Correlated } from './correlation.js'
import type { DefinitionVersion } from './definition/definition.js'
import { validateEmbedded } from './embedded.js'
import { withKnownFormats } from './formats.js'
import { validateListSets } from './list-sets.js'
import { type Before, makeRuleChecker, rulesWereNotChecked } from './rules/check-rules.js'
import { validateScaled } from './scale.js'
import type { StructuralSchema } from './structural-schema.js'
import { validateValue } from './validate-value.js'

/** Spec, status and whatever else the schema has: all but what the registry checks itself. */
const contentOf = (object: KubeObject): JsonValue => {
  const { metadata, ...content } = object
  const { name, generateName } = metadata
  const named: JsonObject = {}
  if (name !== undefined) named.name = name
  if (generateName !== undefined) named.generateName = generateName
  return copyWith(content as JsonObject, { metadata: named })
}

/** Errors that keep rules from being evaluated. */
const blocksRules = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** Puts `status` before the path of an error of a status. */
const inStatus = (error: FieldError): FieldError => ({
  ...error,
  field: error.field === '<nil>' || error.field === '' ? 'status' : `status.${error.field}`,
})

export class CustomValidator {
  readonly #schema: StructuralSchema
  readonly #kind: string
  readonly #scale: NonNullable<DefinitionVersion['subresources']>['scale']
  readonly #rules: ReturnType<typeof makeRuleChecker>

  constructor({ schema, subresources }: DefinitionVersion, kind: string) {
    this.#schema = withKnownFormats(schema?.openAPIV3Schema ?? {})
    this.#kind = kind
    this.#scale = subresources?.scale
    this.#rules = makeRuleChecker(this.#schema)
  }

  validate(object: KubeObject): FieldError[] {
    const content = contentOf(object)
    const errors = [
      ...this.#valueErrors(object, content),
      ...validateEmbedded(content, this.#schema, ''),
      ...validateListSets(content, this.#schema, ''),
    ]
    return this.#withRuleErrors(object, errors, content)
  }

  /** An update may keep what is invalid where it changes nothing. */
  validateUpdate(next: KubeObject, previous: KubeObject, { warn }: RequestContext): FieldError[] {
    const content = contentOf(next)
    const old = contentOf(previous)
    const correlated = this.#correlate(next, previous)
    const errors = [
      ...this.#valueErrors(next, content, correlated),
      ...validateEmbedded(content, this.#schema, ''),
      ...this.#newListErrors(content, old),
    ]
    return this.#withRuleErrors(next, errors, content, { value: old, correlated, warn })
  }

  /** Only the status is checked, with paths that begin there. Rules see the whole object. */
  validateStatus(next: KubeObject, previous: KubeObject, { warn }: RequestContext): FieldError[] {
    const content = contentOf(next)
    const old = contentOf(previous)
    const correlated = this.#correlate(next, previous)
    const errors = [
      ...this.#statusErrors(next, previous, correlated),
      ...validateScaled(next, this.#scale, 'status'),
      ...this.#newListErrors(content, old),
    ]
    return this.#withRuleErrors(next, errors, content, { value: old, correlated, warn })
  }

  #correlate(next: KubeObject, previous: KubeObject): Correlated {
    return new Correlated(next, previous, this.#schema)
  }

  /** An object of another kind is not checked any further. */
  #valueErrors(object: KubeObject, content: JsonValue, correlated?: Correlated): FieldError[] {
    if (object.kind !== this.#kind) return [invalid('kind', object.kind, `must be ${this.#kind}`)]
    return [
      ...validateValue(content, this.#schema, '', correlated),
      ...validateScaled(object, this.#scale, 'all'),
    ]
  }

  #statusErrors(next: KubeObject, previous: KubeObject, correlated: Correlated): FieldError[] {
    const schema = getOwn(this.#schema.properties, 'status')
    const status = next.status as JsonValue | undefined
    if (status === undefined || schema === undefined) return []
    const before =
      correlated.key('status') ??
      new Correlated(status, previous.status as JsonValue | undefined, schema)
    return validateValue(status, schema, '', before).map(inStatus)
  }

  /** An unchanged list may keep duplicates that it had before. */
  #newListErrors(content: JsonValue, old: JsonValue): FieldError[] {
    const hadErrors = validateListSets(old, this.#schema, '').length > 0
    return hadErrors ? [] : validateListSets(content, this.#schema, '')
  }

  #withRuleErrors(
    { metadata }: KubeObject,
    errors: FieldError[],
    content: JsonValue,
    before?: Before,
  ): FieldError[] {
    if (this.#rules === undefined) return errors
    // Errors of metadata block rules as well, but are told by the registry.
    const ofMeta = validateMeta(metadata, Boolean(metadata.namespace), dnsSubdomainName)
    return [...ofMeta, ...errors].some(({ type }) => blocksRules.has(type))
      ? [...errors, rulesWereNotChecked]
      : [...errors, ...this.#rules.check(content, before)]
  }
}
