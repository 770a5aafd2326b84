/** What happens to every object before it replaces a stored one (apiserver, rest/update.go). */

import { conflict, failure, invalid, modifiedMessage } from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { copyWith } from '#json/copy-with.js'
import { hasGivenEmpty, holdsGivenOtherwise } from '#json/given-empty.js'
import { jsonEqual, semanticEqual } from '#json/object.js'
import { quantitiesWrittenAs } from './decode/equal-quantities.js'
import { holdsRaw } from './decode/raw-fields.js'
import { hasSameRaw, storedStruct } from './decode.js'
import { withNamedStrings } from './named-strings.js'
import { matchNamespace } from './object-meta.js'
import type { RequestContext, ResourceDefinition, UpdateStrategy } from './resource-definition.js'
import { parseResourceVersion, parseUintMessage } from './resource-version.js'
import { kindShown, validateMetaOnUpdate } from './validate-object-meta.js'

interface UpdateHooks {
  readonly definition: ResourceDefinition
  readonly hooks: UpdateStrategy
  readonly ctx: RequestContext
  /** False for the status strategy: a status never moves the generation. */
  readonly mayBumpGeneration: boolean
}

/** The resourceVersion of an object as a number, 0 for none. Throws upstream's 500 where it is not a number. */
export const resourceVersionOf = ({ metadata }: KubeObject): number => {
  const text = metadata.resourceVersion ?? ''
  const given = parseResourceVersion(text)
  if (given === undefined) throw failure({ code: 500, message: parseUintMessage(text) })
  return given
}

/** 409 unless the object names the stored version, or none where the kind allows that. */
export const checkResourceVersion = (
  next: KubeObject,
  { definition, name, current }: { definition: ResourceDefinition; name: string; current: string },
): void => {
  const given = resourceVersionOf(next)
  if (given === 0) {
    if (definition.strategy.allowUnconditionalUpdate ?? true) return
    throw invalid({ group: definition.gvr.group, kind: definition.gvr.resource }, name, [
      invalidField('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  if (String(given) !== current) throw conflict(definition.gvr, name, modifiedMessage)
}

/** Semantic equality for generations: what is absent equals what is empty. */
const sameSpec = (a: unknown, b: unknown): boolean => semanticEqual(a ?? {}, b ?? {})

const movesGeneration = (
  next: KubeObject,
  previous: KubeObject,
  definition: ResourceDefinition,
): boolean => {
  const rule = definition.strategy.generation
  if (rule === 'none') return false
  if (typeof rule === 'function') return rule(next, previous)
  const [spec, was] = [next.spec, previous.spec]
  return !sameSpec(spec, was) || !hasSameRaw(definition, { spec }, { spec: was })
}

/** Metadata that no client may take away is put back: uid, creation and deletion times (apiserver, rest/update.go). */
const restoreMeta = (next: KubeObject, previous: KubeObject): void => {
  const meta = next.metadata
  const was = previous.metadata
  if (!meta.uid) meta.uid = was.uid
  if (was.creationTimestamp) meta.creationTimestamp = was.creationTimestamp
  if (was.deletionTimestamp !== undefined) meta.deletionTimestamp = was.deletionTimestamp
  if (was.deletionGracePeriodSeconds !== undefined)
    meta.deletionGracePeriodSeconds ??= was.deletionGracePeriodSeconds
}

/**
 * A spec or status that equals the stored one is replaced by it: nobody changes it from here on, and comparing the same
 * object is free. Not if it has what was given in another way, which field owners may tell from what is stored.
 */
const shareUnchanged = (next: KubeObject, previous: KubeObject): void => {
  for (const field of Object.keys(next))
    if (
      field !== 'metadata' &&
      jsonEqual(next[field], previous[field]) &&
      !(hasGivenEmpty(next) && holdsGivenOtherwise(next[field]))
    )
      next[field] = previous[field]
}

/** Not where the order of keys is a change. */
const mayShare = ({ strategy, schemaName }: UpdateHooks['definition']): boolean =>
  strategy.canonicalize === undefined && !holdsRaw(schemaName)

/** `next` is private and changed in place. Throws 400 or 422. */
export const beforeUpdate = (
  next: KubeObject,
  previous: KubeObject,
  { definition, hooks, ctx, mayBumpGeneration }: UpdateHooks,
): void => {
  matchNamespace(next.metadata, definition, ctx.namespace)
  if (previous.metadata.generation === undefined) delete next.metadata.generation
  else next.metadata.generation = previous.metadata.generation
  definition.strategy.dropDisabled?.(next)
  hooks.prepareForUpdate?.(next, previous, ctx)
  if (mayShare(definition)) shareUnchanged(next, previous)
  const struct = storedStruct(definition)
  const compared = struct === undefined ? previous : quantitiesWrittenAs(struct, previous, next)
  // The hook may have replaced the metadata object.
  const meta = next.metadata
  if (
    mayBumpGeneration &&
    (meta.generation ?? 0) > 0 &&
    movesGeneration(next, compared, definition)
  )
    meta.generation = (previous.metadata.generation ?? 0) + 1
  restoreMeta(next, previous)
  const repeats = hooks.metadataRevalidation ?? definition.strategy.metadataRevalidation ?? 'full'
  const { errors, again } = validateMetaOnUpdate(next, previous, definition, repeats)
  pushAll(errors, hooks.validateUpdate?.(next, compared, ctx, again) ?? [])
  if (errors.length > 0) {
    const told = withNamedStrings(errors, definition)
    throw invalid(kindShown(next, definition), meta.name ?? '', told)
  }
  for (const text of hooks.warningsOnUpdate?.(next, previous, ctx) ?? []) ctx.warn(text)
  definition.strategy.canonicalize?.(next)
}

/**
 * The default of the status subresource: status and metadata as sent, all else as stored. Of a custom resource's metadata
 * nothing but managedFields counts: the resourceVersion is the stored one, or the update was refused before.
 */
const keepAllButStatus = (
  next: KubeObject,
  previous: KubeObject,
  definition: ResourceDefinition,
): void => {
  for (const field of Object.keys(next))
    if (field !== 'status' && field !== 'metadata' && !Object.hasOwn(previous, field))
      delete next[field]
  for (const field of Object.keys(previous))
    if (field !== 'status' && field !== 'metadata') next[field] = previous[field]
  if (!definition.isCustom) return
  const { managedFields } = next.metadata
  next.metadata = copyWith(previous.metadata)
  delete next.metadata.managedFields
  if (managedFields !== undefined) next.metadata.managedFields = managedFields
}

/** How the status subresource updates an object. */
export const statusHooks = (definition: ResourceDefinition): UpdateStrategy => {
  const { status, statusMetadataRevalidation = 'change' } = definition.strategy
  return {
    ...status,
    metadataRevalidation: statusMetadataRevalidation,
    prepareForUpdate: (next, previous, ctx) => {
      keepAllButStatus(next, previous, definition)
      status?.prepareForUpdate?.(next, previous, ctx)
    },
  }
}
