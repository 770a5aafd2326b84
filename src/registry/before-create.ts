/** What happens to every object before it is first written, in upstream's order (apiserver, rest/create.go). */
import { failure, invalid } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { generatedName, type Ids } from './ids.js'
import { withNamedStrings } from './named-strings.js'
import {
  dedupOwnerReferences,
  fillSystemFields,
  matchNamespace,
  wipeSystemFields,
} from './object-meta.js'
import type { RequestContext, ResourceDefinition } from './resource-definition.js'
import { parseResourceVersion } from './resource-version.js'
import { genericMetaErrors, kindShown, validateMetaOnCreate } from './validate-object-meta.js'

/** Clears the fields that only the server sets, and puts the object into the request's namespace. */
export const receiveNewObject = (
  object: KubeObject,
  definition: ResourceDefinition,
  ctx: RequestContext,
): void => {
  wipeSystemFields(object.metadata)
  matchNamespace(object.metadata, definition, ctx.namespace)
  dedupOwnerReferences(object.metadata, ctx)
}

const countsGenerations = (object: KubeObject, definition: ResourceDefinition): boolean => {
  const rule = definition.strategy.generation
  if (rule === undefined) return Object.hasOwn(object, 'spec')
  return rule !== 'none'
}

interface Creation {
  definition: ResourceDefinition
  ctx: RequestContext
  ids: Ids
}

/** Gives the object its name and uid. Reservations (cluster IPs, ports) are made for these, so they come first. */
export const identify = (object: KubeObject, { definition, ctx, ids }: Creation): void => {
  const meta = object.metadata
  fillSystemFields(meta, { now: ctx.now, ids })
  const { generateName = (base: string) => generatedName(base, ids) } = definition.strategy
  if (meta.generateName && !meta.name) meta.name = generateName(meta.generateName)
}

/** The strategy's preparation, validation, warnings and canonical form. Throws 422. */
export const beforeCreate = (
  object: KubeObject,
  { definition, ctx }: Omit<Creation, 'ids'>,
): void => {
  const { strategy } = definition
  const meta = object.metadata
  if (countsGenerations(object, definition)) meta.generation = 1
  strategy.dropDisabled?.(object)
  strategy.prepareForCreate?.(object, ctx)
  const own = strategy.validate?.(object, ctx) ?? []
  // A kind that checks no metadata itself leaves that to the generic check, which comes once its own has found nothing.
  // So does a custom resource that says it is of another kind.
  const isLeft = strategy.metadataRevalidation === 'none' || object.kind !== definition.gvk.kind
  const errors =
    isLeft && own.length > 0
      ? own
      : [
          ...(strategy.validateBeforeMetadata?.(object) ?? []),
          ...validateMetaOnCreate(object, definition),
          ...own,
        ]
  if (errors.length === 0) errors.push(...genericMetaErrors(meta))
  if (errors.length > 0) {
    const told = withNamedStrings(errors, definition)
    throw invalid(kindShown(object, definition), meta.name ?? '', told)
  }
  for (const text of strategy.warningsOnCreate?.(object, ctx) ?? []) ctx.warn(text)
  strategy.canonicalize?.(object)
}

/** The check is the storage layer's own, so it comes last and is a 500. A text that is not a number is ignored. */
export const refuseResourceVersion = (object: KubeObject): void => {
  if ((parseResourceVersion(object.metadata.resourceVersion ?? '') ?? 0) !== 0)
    throw failure({
      code: 500,
      message: 'resourceVersion should not be set on objects to be created',
    })
}
