/**
 * Validation of metadata, in upstream's order and words (apimachinery, pkg/api/validation/objectmeta.go). Its errors
 * come more than once on an update, because upstream's generic code and its strategies both run them: see
 * `validateMetaOnUpdate`.
 */

import { each } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  required,
  tooLong,
} from '#api/field-error.js'
import { parseGroupVersion } from '#api/group-version.js'
import {
  dnsLabelName,
  dnsSubdomainName,
  isLabelValue,
  isQualifiedName,
  type NameRule,
  pathSegmentName,
} from '#api/names.js'
import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '#api/object.js'
import { goStrings } from '#go/quote.js'
import { sortedKeys } from '#json/entries.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import type {
  MetadataChecks,
  MetadataRevalidation,
  ResourceDefinition,
} from './resource-definition.js'
import { validateFieldManager } from './validate-options.js'

export const foregroundFinalizer = 'foregroundDeletion'
export const orphanFinalizer = 'orphan'
export const standardFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer])
const immutable = 'field is immutable'

export const validateLabels = (
  labels: Record<string, string> = {},
  path = 'metadata.labels',
): FieldError[] => {
  const errors: FieldError[] = []
  for (const key of sortedKeys(labels)) {
    for (const message of isQualifiedName(key)) errors.push(invalid(path, key, message))
    for (const message of isLabelValue(labels[key]!))
      errors.push(invalid(path, labels[key], message))
  }
  return errors
}

export const validateAnnotations = (
  annotations: Record<string, string> = {},
  path = 'metadata.annotations',
): FieldError[] => {
  const errors: FieldError[] = []
  let bytes = 0
  for (const key of sortedKeys(annotations)) {
    for (const message of isQualifiedName(key.toLowerCase()))
      errors.push(invalid(path, key, message))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!)
  }
  if (bytes > limits.annotationsBytesMax) errors.push(tooLong(path, limits.annotationsBytesMax))
  return errors
}

const ownerPath = 'metadata.ownerReferences'

const validateOwnerReference = (reference: OwnerReference): FieldError[] => {
  const errors: FieldError[] = []
  const gv = parseGroupVersion(reference.apiVersion)
  if (gv === undefined || gv.version === '')
    errors.push(
      invalid(child(ownerPath, 'apiVersion'), reference.apiVersion, 'version must not be empty'),
    )
  for (const field of ['kind', 'name', 'uid'] as const)
    if (!reference[field])
      errors.push(invalid(child(ownerPath, field), reference[field] ?? '', 'must not be empty'))
  if (reference.apiVersion === 'v1' && reference.kind === 'Event')
    errors.push(invalid(ownerPath, reference, '/v1, Kind=Event is disallowed from being an owner'))
  return errors
}

const validateOwnerReferences = (references: OwnerReference[] = []): FieldError[] => {
  const controllers: string[] = []
  return each(ownerPath, references, (reference) => {
    const errors = validateOwnerReference(reference)
    if (reference.controller !== true || controllers.length > limits.controllersToldMax)
      return errors
    controllers.push(`${reference.kind}/${reference.name}`)
    if (controllers.length === 1) return errors
    const found = `${controllers[0]} and ${controllers[controllers.length - 1]}`
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${found}`
    return [...errors, invalid(ownerPath, references, why)]
  })
}

const validateFinalizers = (finalizers: string[] = []): FieldError[] => {
  const path = 'metadata.finalizers'
  const errors = each(path, finalizers, (f) => invalidEach(path, f, isQualifiedName(f)))
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer))
    errors.push(
      invalid(
        path,
        finalizers,
        `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`,
      ),
    )
  return errors
}

const validateManagedFields = (entries: ManagedFieldsEntry[] = []): FieldError[] =>
  each('metadata.managedFields', entries, (entry, path) => {
    const errors: FieldError[] = []
    if (entry.operation !== 'Apply' && entry.operation !== 'Update')
      errors.push(
        invalid(child(path, 'operation'), entry.operation ?? '', 'must be `Apply` or `Update`'),
      )
    if (entry.fieldsType && entry.fieldsType !== 'FieldsV1')
      errors.push(invalid(child(path, 'fieldsType'), entry.fieldsType, 'must be `FieldsV1`'))
    errors.push(...validateFieldManager(entry.manager ?? '', child(path, 'manager')))
    if (Buffer.byteLength(entry.subresource ?? '') > 256)
      errors.push(tooLong(child(path, 'subresource'), 256))
    return errors
  })

const validateNamespace = (meta: ObjectMeta, namespaced: boolean): FieldError[] => {
  const path = 'metadata.namespace'
  const namespace = meta.namespace ?? ''
  if (!namespaced) return namespace === '' ? [] : [forbidden(path, 'not allowed on this type')]
  if (namespace === '') return [required(path)]
  return dnsLabelName(namespace, false).map((m) => invalid(path, namespace, m))
}

const validateGeneration = (meta: ObjectMeta): FieldError[] =>
  (meta.generation ?? 0) < 0
    ? [invalid('metadata.generation', meta.generation, 'must be greater than or equal to 0')]
    : []

/** Checks that each of upstream's functions repeats, made once here. */
const commonErrors = (meta: ObjectMeta) => ({
  generation: validateGeneration(meta),
  maps: [
    ...validateLabels(meta.labels),
    ...validateAnnotations(meta.annotations),
    ...validateOwnerReferences(meta.ownerReferences),
  ],
  managedFields: validateManagedFields(meta.managedFields),
})
type CommonErrors = ReturnType<typeof commonErrors>

const nameErrors = ({ generateName, name }: ObjectMeta, rule: NameRule): FieldError[] => [
  ...(generateName
    ? rule(generateName, true).map((m) => invalid('metadata.generateName', generateName, m))
    : []),
  ...(name ? rule(name, false).map((m) => invalid('metadata.name', name, m)) : []),
]

/** Upstream's ValidateObjectMetaAccessor. */
export const validateMeta = (
  meta: ObjectMeta,
  namespaced: boolean,
  nameRule: NameRule,
  common: CommonErrors = commonErrors(meta),
): FieldError[] => {
  return [
    ...nameErrors(meta, nameRule),
    ...(meta.name ? [] : [required('metadata.name', 'name or generateName is required')]),
    ...validateNamespace(meta, namespaced),
    ...common.generation,
    ...common.maps,
    ...validateFinalizers(meta.finalizers),
    ...common.managedFields,
  ]
}

/**
 * Upstream's check of every object on create. It finds names that a kind's own check may have let through but that no
 * path can hold.
 */
export const genericMetaErrors = (meta: ObjectMeta): FieldError[] =>
  nameErrors(meta, pathSegmentName)

/** The check of core kinds that a finalizer without a domain is a known one (kubernetes, core/validation ValidateFinalizerName). */
export const standardFinalizerErrors = (meta: ObjectMeta): FieldError[] =>
  each('metadata.finalizers', meta.finalizers, (finalizer, path) =>
    finalizer.includes('/') || standardFinalizers.has(finalizer)
      ? []
      : [
          invalid(
            path,
            finalizer,
            'name is neither a standard finalizer name nor is it fully qualified',
          ),
        ],
  )

const validateFinalizerNames = (
  meta: ObjectMeta,
  { strategy, isCustom }: ResourceDefinition,
): FieldError[] =>
  (strategy.knownFinalizerNames ?? !isCustom) ? standardFinalizerErrors(meta) : []

const changed = (path: string, next: unknown, previous: unknown): FieldError[] =>
  next === previous || jsonEqual(next ?? null, previous ?? null)
    ? []
    : [invalid(path, next ?? null, immutable)]

/** Upstream's ValidateObjectMetaAccessorUpdate. */
const validateMetaChange = (
  next: ObjectMeta,
  previous: ObjectMeta,
  common: CommonErrors,
): FieldError[] => {
  const errors: FieldError[] = []
  if (previous.deletionTimestamp !== undefined) {
    const had = new Set(previous.finalizers ?? [])
    const added = [...new Set(next.finalizers ?? [])].filter((f) => !had.has(f)).sort()
    if (added.length > 0)
      errors.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${goStrings(added)}`,
        ),
      )
  }
  return [
    ...errors,
    ...common.generation,
    ...changed('metadata.name', next.name ?? '', previous.name ?? ''),
    ...changed('metadata.namespace', next.namespace ?? '', previous.namespace ?? ''),
    ...changed('metadata.uid', next.uid, previous.uid),
    ...changed('metadata.creationTimestamp', next.creationTimestamp, previous.creationTimestamp),
    ...changed('metadata.deletionTimestamp', next.deletionTimestamp, previous.deletionTimestamp),
    ...changed(
      'metadata.deletionGracePeriodSeconds',
      next.deletionGracePeriodSeconds,
      previous.deletionGracePeriodSeconds,
    ),
    ...common.maps,
    ...common.managedFields,
  ]
}

const nameRuleOf = (object: KubeObject, { strategy }: ResourceDefinition): NameRule => {
  const { validateName = dnsSubdomainName } = strategy
  return (name, prefix) => validateName(name, prefix, object)
}

/** What a Status about an invalid object calls its kind: a custom one is what it says that it is. */
export const kindShown = (
  { kind = '' }: KubeObject,
  { storageVersion, isCustom }: ResourceDefinition,
): { group: string; kind: string } => (isCustom ? { ...storageVersion, kind } : storageVersion)

/** On create, the strategy's own check of metadata comes first; the generic one (genericMetaErrors) only when nothing failed. */
export const validateMetaOnCreate = (
  object: KubeObject,
  definition: ResourceDefinition,
  common: CommonErrors = commonErrors(object.metadata),
): FieldError[] => [
  ...validateMeta(object.metadata, definition.namespaced, nameRuleOf(object, definition), common),
  ...validateFinalizerNames(object.metadata, definition),
]

const repeated: Readonly<Record<MetadataRevalidation, readonly (keyof MetadataChecks)[]>> = {
  none: [],
  placed: [],
  change: ['change'],
  create: ['create'],
  full: ['change', 'create'],
  createFirst: ['create', 'change'],
}

/** On update: the generic checks, then those that the strategy repeats, before its own errors or where it places them. */
export const validateMetaOnUpdate = (
  next: KubeObject,
  previous: KubeObject,
  definition: ResourceDefinition,
  repeats: MetadataRevalidation,
): { errors: FieldError[]; again: MetadataChecks } => {
  const { metadata } = next
  const common = commonErrors(metadata)
  const change = validateMetaChange(metadata, previous.metadata, common)
  const again: MetadataChecks = {
    change: () => [...change, ...validateFinalizerNames(metadata, definition)],
    create: () => validateMetaOnCreate(next, definition, common),
  }
  const errors = [
    ...validateMeta(metadata, definition.namespaced, pathSegmentName, common),
    ...change,
    ...repeated[repeats].flatMap((check) => again[check]()),
  ]
  return { errors, again }
}
