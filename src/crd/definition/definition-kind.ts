/** The kind CustomResourceDefinition itself (apiextensions, pkg/registry/customresourcedefinition). */
import { formatTime } from '#api/clock.js'
import { conditionOf, putCondition } from '#api/conditions.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { isJsonObject } from '#json/object.js'
import { guardDelete } from '#registry/preconditions.js'
import { defineKind, type Strategy } from '#registry/resource-definition.js'
import { isKnownFormat } from '../formats.js'
import type { StructuralSchema } from '../structural-schema.js'
import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  type DefinitionCondition,
} from './definition.js'
import { formerDefinition, fromFormerDefinition } from './former-definition.js'
import {
  nameProblems,
  validateDefinition,
  validateDefinitionUpdate,
} from './validate-definition.js'
import { validateNames } from './validate-names.js'

const asDefinition = (object: KubeObject) => object as CustomResourceDefinition

const setDefaults = (object: KubeObject): void => {
  const { spec } = asDefinition(object)
  const { plural, singular, shortNames, kind, listKind, ...more } = spec.names
  if (kind)
    spec.names = {
      plural,
      singular: singular || kind.toLowerCase(),
      ...(shortNames === undefined ? {} : { shortNames }),
      kind,
      listKind: listKind || `${kind}List`,
      ...more,
    }
  spec.conversion ??= { strategy: 'None' }
  // Upstream's internal type has the webhook's fields in the conversion itself, so that an empty webhook disappears.
  const { webhook } = spec.conversion
  if (webhook && !webhook.clientConfig && !webhook.conversionReviewVersions)
    delete spec.conversion.webhook
  const service = spec.conversion.webhook?.clientConfig?.service
  if (service !== undefined) service.port ??= 443
  defaultStoredVersions(asDefinition(object))
}

/** An empty storedVersions gets the storage version. */
const defaultStoredVersions = ({ spec, status }: CustomResourceDefinition): void => {
  if (status === undefined || (status.storedVersions ?? []).length > 0) return
  const storage = spec.versions?.find((v) => v.storage)
  status.storedVersions = storage === undefined ? null : [storage.name]
}

/** The storage version joins status.storedVersions and stays until somebody takes it out. */
const rememberStorageVersion = (definition: CustomResourceDefinition, before: string[]): void => {
  const storage = definition.spec.versions?.find((v) => v.storage)?.name
  const stored = storage === undefined || before.includes(storage) ? before : [...before, storage]
  definition.status!.storedVersions = stored.length === 0 ? null : stored
}

/** A schema before those in it, these in upstream's order; of properties, which have none there, by name. */
const unknownFormats = (schema: StructuralSchema): string[] => {
  const { format, type, items, allOf, anyOf, oneOf, not, properties, additionalProperties } = schema
  const named = Object.entries(properties ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const inner: (StructuralSchema | undefined)[] = [
    isJsonObject(items) ? items : undefined,
    ...(allOf ?? []),
    ...(anyOf ?? []),
    ...(oneOf ?? []),
    not,
    ...named.map(([, property]) => property),
    isJsonObject(additionalProperties) ? additionalProperties : undefined,
  ]
  return [
    ...(format && !isKnownFormat(format, type) ? [format] : []),
    ...inner.flatMap((one) => (one === undefined ? [] : unknownFormats(one))),
  ]
}

const formatsOf = (object: KubeObject): ReadonlySet<string> => {
  const schemas = (asDefinition(object).spec.versions ?? []).map((v) => v.schema?.openAPIV3Schema)
  return new Set(schemas.flatMap((s) => (s === undefined ? [] : unknownFormats(s))))
}

/** What nobody checks is told of when it comes. */
const formatWarnings = (object: KubeObject, before?: KubeObject): string[] => {
  const known = before === undefined ? new Set() : formatsOf(before)
  return [...formatsOf(object)]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`)
}

/** Puts a condition into the list, with a new transition time when its status changes. */
export const withCondition = (
  conditions: readonly DefinitionCondition[] | null | undefined,
  condition: DefinitionCondition,
  now: number,
): DefinitionCondition[] => {
  const old = conditionOf({ status: { conditions } }, condition.type)
  const since = old?.status === condition.status ? old.lastTransitionTime : formatTime(now)
  const { type, status, lastTransitionTime: _, ...said } = condition
  // Nothing may be undefined: readers meet the object as it is before it was JSON.
  const time = since === undefined ? {} : { lastTransitionTime: since }
  return putCondition(conditions ?? [], { type, status, ...time, ...said })
}

/**
 * The first delete only sets the deletionTimestamp: the objects of the definition go before its finalizer (apiextensions'
 * REST.Delete).
 */
const deleteDefinition: Strategy['delete'] = async ({ name, options, store }, ctx) => {
  const current = await store.get(ctx, name)
  const guarded = guardDelete(options, current.object, store.definition)
  if (current.object.metadata.deletionTimestamp !== undefined)
    return store.deleteGenerically(ctx, name, guarded)
  const stored = await store.changeStored(ctx, name, async (copy, latest) => {
    guardDelete(guarded, copy, store.definition)
    await store.admitDelete(ctx, latest, guarded)
    const definition = asDefinition(copy)
    const { metadata } = definition
    metadata.deletionTimestamp = formatTime(ctx.now)
    const finalizers = metadata.finalizers ?? []
    if (!finalizers.includes(cleanupFinalizer))
      metadata.finalizers = [...finalizers, cleanupFinalizer]
    definition.status!.conditions = withCondition(
      definition.status!.conditions,
      {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionPending',
        message:
          'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      },
      ctx.now,
    )
  })
  return { stored, deleted: false }
}

export const customResourceDefinition = defineKind({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  hasTableOfStatus: false,
  upstreamForm: {
    write: (object) => formerDefinition(asDefinition(object)),
    read: (stored) => fromFormerDefinition(stored),
  },
  strategy: {
    allowUnconditionalUpdate: false,
    knownFinalizerNames: false,
    metadataRevalidation: 'change',
    validateName: (name, prefix, object) => nameProblems(name, prefix, asDefinition(object)),
    default: setDefaults,
    prepareForCreate: (object) => {
      const definition = asDefinition(object)
      definition.status = { conditions: null, acceptedNames: { plural: '', kind: '' } }
      rememberStorageVersion(definition, [])
    },
    validate: (object) => validateDefinition(asDefinition(object)),
    warningsOnCreate: (object) => formatWarnings(object),
    prepareForUpdate: (object, previous) => {
      const next = asDefinition(object)
      const before = asDefinition(previous).status
      next.status = structuredClone(before) ?? {
        conditions: null,
        acceptedNames: { plural: '', kind: '' },
      }
      rememberStorageVersion(next, before?.storedVersions ?? [])
    },
    validateUpdate: (next, previous) =>
      validateDefinitionUpdate(asDefinition(next), asDefinition(previous)),
    warningsOnUpdate: (next, previous) => formatWarnings(next, previous),
    status: {
      validateUpdate: (next) =>
        validateNames(asDefinition(next).status!.acceptedNames, 'status.acceptedNames'),
    },
    delete: deleteDefinition,
  },
  sample: {
    metadata: { name: 'samples.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'samples', kind: 'Sample' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } },
          },
        },
      ],
    },
  },
})
