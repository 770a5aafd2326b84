/** What the server itself writes into metadata, and what it takes out of a client's hands. */
import { formatTime } from '#api/clock.js'
import { badRequest } from '#api/errors.js'
import type { KubeObject, ObjectMeta, OwnerReference } from '#api/object.js'
import { jsonEqual } from '#json/object.js'
import type { Ids } from './ids.js'
import type { RequestContext, ResourceDefinition } from './resource-definition.js'

/** The first thing on every POST (apiserver, rest/meta.go WipeObjectMetaSystemFields): finalizers stay. */
export const wipeSystemFields = (meta: ObjectMeta): void => {
  delete meta.creationTimestamp
  delete meta.uid
  delete meta.deletionTimestamp
  delete meta.deletionGracePeriodSeconds
  delete meta.selfLink
}

export const fillSystemFields = (
  meta: ObjectMeta,
  { now, ids }: { now: number; ids: Ids },
): void => {
  meta.uid = ids.uid()
  meta.creationTimestamp = formatTime(now)
}

/** Puts the namespace of the request into the object, if its kind has one; a contradiction is a 400. */
export const matchNamespace = (
  meta: ObjectMeta,
  { namespaced }: ResourceDefinition,
  namespace = '',
): void => {
  const expected = namespaced ? namespace : ''
  const given = meta.namespace ?? ''
  if (given === expected) return
  if (expected === '') {
    delete meta.namespace
    return
  }
  if (given !== '')
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  meta.namespace = expected
}

const warningText = (uids: readonly string[], afterAdmission: boolean): string =>
  `.metadata.ownerReferences contains duplicate entries${
    afterAdmission ? ' after mutating admission happens' : ''
  }; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`

/** The same text for equal references: an object may have tens of thousands, too many to compare each with each. */
const ownerText = (reference: OwnerReference): string => {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])
}

/** Equal owner references are kept once, with a warning: of a body before and after mutating admission, of a patch only after. */
export const dedupOwnerReferences = (
  meta: ObjectMeta,
  ctx: RequestContext,
  afterAdmission = false,
): void => {
  const references = meta.ownerReferences
  if (references === undefined || references.length < 2) return
  const kept = new Map<string, OwnerReference>()
  const dropped: string[] = []
  for (const reference of references) {
    const text = ownerText(reference)
    if (kept.has(text)) dropped.push(reference.uid)
    else kept.set(text, reference)
  }
  if (dropped.length === 0) return
  ctx.warn(warningText(dropped, afterAdmission))
  meta.ownerReferences = [...kept.values()]
}

/** Upstream's field order, so that kind and apiVersion always are the same first bytes of the JSON. */
export const inFieldOrder = (object: KubeObject): KubeObject => {
  const { kind, apiVersion, metadata, ...rest } = object
  return { kind, apiVersion, metadata: metadataInFieldOrder(metadata), ...rest }
}

/** Differences are mostly in the metadata, so that is compared first. The resourceVersion does not count. */
export const sameContent = (a: KubeObject, b: KubeObject): boolean =>
  jsonEqual(metadataInFieldOrder(a.metadata), metadataInFieldOrder(b.metadata)) &&
  jsonEqual({ ...a, metadata: null }, { ...b, metadata: null })

/** Without what Go leaves out, and without the resourceVersion, which storage adds. */
const metadataInFieldOrder = (metadata: ObjectMeta): ObjectMeta => {
  const {
    name,
    generateName,
    namespace,
    selfLink,
    uid,
    resourceVersion: _fromStorage,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields,
  } = metadata
  const ordered: ObjectMeta = {}
  if (name !== undefined) ordered.name = name
  if (generateName !== undefined && generateName !== '') ordered.generateName = generateName
  if (namespace !== undefined && namespace !== '') ordered.namespace = namespace
  if (selfLink !== undefined && selfLink !== '') ordered.selfLink = selfLink
  if (uid !== undefined) ordered.uid = uid
  if (generation !== undefined && generation !== 0) ordered.generation = generation
  if (creationTimestamp !== undefined) ordered.creationTimestamp = creationTimestamp
  if (deletionTimestamp !== undefined && deletionTimestamp !== null)
    ordered.deletionTimestamp = deletionTimestamp
  if (deletionGracePeriodSeconds !== undefined && deletionGracePeriodSeconds !== null)
    ordered.deletionGracePeriodSeconds = deletionGracePeriodSeconds
  if (hasKeys(labels)) ordered.labels = labels
  if (hasKeys(annotations)) ordered.annotations = annotations
  if (hasKeys(ownerReferences)) ordered.ownerReferences = ownerReferences
  if (hasKeys(finalizers)) ordered.finalizers = finalizers
  if (hasKeys(managedFields)) ordered.managedFields = managedFields
  return ordered
}

const hasKeys = (value: object | null | undefined): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : value !== undefined && value !== null && Object.keys(value).length > 0
