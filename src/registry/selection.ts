/** Turns the selectors of a request into a Selection of the object storage. */

import { badRequest } from '#api/errors.js'
import { isPathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import type { FieldRequirement, LabelRequirement } from '#api/selectors.js'
import { labelsRequired, matchesFields, matchesLabels } from '#api/selectors.js'
import type { Selection, StoredObject } from '#cacher/object-storage.js'
import { goQuote } from '#go/quote.js'
import { getOwn } from '#json/object.js'
import type { ResourceDefinition } from './resource-definition.js'
import { refuseDots } from './store-base.js'

interface SelectionRequest {
  readonly definition: ResourceDefinition
  readonly namespace: string | undefined
  /** A name in the path (legacy watch). */
  readonly name?: string
  readonly labels: readonly LabelRequirement[]
  readonly fields: readonly FieldRequirement[]
}

const metadataFields: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
}

const unknownFieldText = (definition: ResourceDefinition, field: string): string => {
  if (definition.fieldLabelError !== undefined) return definition.fieldLabelError(field)
  return definition.ownFieldLabels || definition.isCustom
    ? `field label not supported: ${field}`
    : `${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
}

/** Cluster-scoped kinds that convert their field labels themselves take no metadata.namespace. */
const takesMetadataField = (definition: ResourceDefinition, field: string): boolean =>
  field === 'metadata.name' ||
  definition.namespaced ||
  !(definition.ownFieldLabels || definition.isCustom)

/** The requirements by the fields' own names. Throws 400 for a field that this kind does not offer. */
export const knownFields = (
  definition: ResourceDefinition,
  fields: readonly FieldRequirement[],
): readonly FieldRequirement[] =>
  fields.map((requirement) => {
    const field = getOwn(definition.fieldAliases, requirement.field) ?? requirement.field
    const isMetadata = Object.hasOwn(metadataFields, field) && takesMetadataField(definition, field)
    if (!isMetadata && getOwn(definition.selectableFields, field) === undefined)
      throw badRequest(unknownFieldText(definition, field))
    return { ...requirement, field }
  })

const fieldValue = (definition: ResourceDefinition, object: KubeObject, field: string): string =>
  (metadataFields[field] ?? definition.selectableFields?.[field])?.(object) ?? ''

/** `/registry/pods/` or `/registry/pods/default/`. */
export const prefixOf = (definition: ResourceDefinition, namespace: string | undefined): string =>
  definition.namespaced && namespace
    ? `${definition.storagePrefix}/${namespace}/`
    : `${definition.storagePrefix}/`

/** The one name that the requirements let through. */
export const exactName = (fields: readonly FieldRequirement[]): string | undefined =>
  fields.find((f) => f.field === 'metadata.name' && f.operator === '=')?.value

/** A name that no object can have matches nothing, and must not become part of a key. */
const isOneName = (name: string | undefined): boolean =>
  name !== undefined && name !== '' && isPathSegmentName(name).length === 0

/** The one field, of Pods and ResourceSlices, by which upstream's caches have an index (registry/…/strategy.go, Indexers). */
const indexedField = 'spec.nodeName'

export const makeSelection = (request: SelectionRequest): Selection => {
  const { definition, labels, fields } = request
  const exactNamespace =
    request.namespace ||
    fields.find((f) => f.field === 'metadata.namespace' && f.operator === '=')?.value
  const prefix = prefixOf(definition, request.namespace)
  refuseDots(request.namespace, prefix.slice(0, -1))
  const name = request.name ?? exactName(fields)
  const hasKey = isOneName(name) && (!definition.namespaced || exactNamespace)
  const fieldEquals = new Map(
    fields
      .filter((f) => f.operator === '=' && !Object.hasOwn(metadataFields, f.field))
      .map((f) => [f.field, f.value]),
  )
  const required =
    request.name === undefined
      ? fields
      : [...fields, { field: 'metadata.name', operator: '=' as const, value: request.name }]
  const matches = (stored: StoredObject): boolean => {
    // A list by labels alone decodes nothing.
    const found = stored.labels ?? stored.object.metadata.labels
    if (labels.length > 0 && !matchesLabels(labels, found)) return false
    if (required.length === 0) return true
    const { object } = stored
    return matchesFields(required, (field) => fieldValue(definition, object, field))
  }
  const indexed = definition.isCustom ? undefined : fieldEquals.get(indexedField)
  const labelEquals = labelsRequired(labels)
  const isOnePair =
    labels.length + required.length === 1 && labelEquals.size + fieldEquals.size === 1
  return {
    prefix,
    ...(hasKey ? { key: `${prefixOf(definition, exactNamespace)}${name}` } : {}),
    ...(labels.length > 0 ? { labelEquals } : {}),
    ...(fieldEquals.size > 0 ? { fieldEquals } : {}),
    ...(indexed ? { indexed: new Map([[indexedField, indexed]]) } : {}),
    ...(labels.length > 0 || required.length > 0 ? { matches } : {}),
    ...(isOnePair ? { isOnePair } : {}),
  }
}
