/** What the parts of the generic store share: keys, reading, admission and the write of an object that is ready. */

import type { Clock } from '#api/clock.js'
import { badRequest, failure, notFound } from '#api/errors.js'
import { isPathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { MadeObject } from '#cacher/made-object.js'
import type { ObjectStorage, ReadConsistency, StoredObject } from '#cacher/object-storage.js'
import { goQuote } from '#go/quote.js'
import type { JsonObject } from '#json/value.js'
import type { Admission, AdmissionOperation, AdmittedChange } from './admission.js'
import type { FieldManager } from './field-manager/field-manager.js'
import { problemOfManagedFields } from './field-manager/managed-fields.js'
import type { Ids } from './ids.js'
import { interpretingErrors } from './interpret-storage-error.js'
import { inFieldOrder } from './object-meta.js'
import type { DeleteOptions, RequestContext, ResourceDefinition } from './resource-definition.js'

export interface StoreDeps {
  readonly storage: ObjectStorage
  readonly definition: ResourceDefinition
  readonly admission: Admission
  readonly fieldManager: FieldManager
  readonly clock: Clock
  readonly ids: Ids
}

export const keyOf = (
  definition: ResourceDefinition,
  namespace: string | undefined,
  name: string,
): string => {
  if (name === '') throw badRequest('Name parameter required.')
  const messages = isPathSegmentName(name)
  if (messages.length > 0)
    throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${messages.join(';')}`)
  if (!definition.namespaced) return `${definition.storagePrefix}/${name}`
  const key = `${definition.storagePrefix}/${namespace ?? ''}/${name}`
  refuseDots(namespace, key)
  return key
}

const rootLength = '/registry'.length

/** `.` and `..` cannot be part of a key (apiserver, pkg/storage/interfaces.go PrepareKey). */
export const refuseDots = (namespace: string | undefined, key: string): void => {
  if (namespace === '.' || namespace === '..')
    throw failure({ code: 500, message: `invalid key: ${goQuote(key.slice(rootLength))}` })
}

export const consistent: ReadConsistency = { kind: 'consistent' }

/** Throws notFound where there is none. */
export const existing = (
  { gvr, notFoundAs = gvr.resource }: ResourceDefinition,
  name: string,
  stored: StoredObject | undefined,
): StoredObject => {
  if (stored === undefined) throw notFound({ ...gvr, resource: notFoundAs }, name)
  return stored
}

/** Throws notFound. A promise only where storage has to wait. */
export const readStored = (
  { storage, definition }: StoreDeps,
  ctx: RequestContext,
  name: string,
  consistency: ReadConsistency = consistent,
): StoredObject | Promise<StoredObject> => {
  const key = keyOf(definition, ctx.namespace, name)
  return interpretingErrors(
    () => whenKnown(storage.get(key, consistency), (stored) => existing(definition, name, stored)),
    {
      resource: definition.gvr,
      operation: 'get',
      asked: 'revision' in consistency ? consistency.revision : undefined,
    },
  )
}

/** Runs a write; a WriteConflict passes through, every other failure becomes a Status. */
export const write = <T>(
  { definition }: StoreDeps,
  operation: string,
  action: () => T | Promise<T>,
): T | Promise<T> => interpretingErrors(action, { resource: definition.gvr, operation })

const optionsKinds: Readonly<Record<AdmissionOperation, string | undefined>> = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
  CONNECT: undefined,
}

const optionsOf = (
  operation: AdmissionOperation,
  ctx: RequestContext,
  options: DeleteOptions | undefined,
): JsonObject | null => {
  const kind = optionsKinds[operation]
  if (kind === undefined) return null
  const type = { kind, apiVersion: 'meta.k8s.io/v1' }
  if (options !== undefined) return { ...type, ...(options as JsonObject) }
  const { dryRun, fieldManager, fieldValidation } = ctx
  return {
    ...type,
    ...(dryRun ? { dryRun: ['All'] } : {}),
    ...(fieldManager === '' ? {} : { fieldManager }),
    ...(fieldValidation === '' ? {} : { fieldValidation }),
  }
}

/** One call of mutating or validating admission. */
export const admit = (
  deps: StoreDeps,
  step: keyof Admission,
  call: AdmittedChange & { ctx: RequestContext; name: string; options?: DeleteOptions },
): void | Promise<void> => {
  const { definition } = deps
  const { ctx } = call
  return deps.admission[step]({
    operation: call.operation,
    definition,
    kind: ctx.kind ?? definition.gvk,
    resource: definition.gvr,
    subresource: ctx.subresource,
    namespace: definition.namespaced
      ? (ctx.namespace ?? '')
      : definition.gvr.resource === 'namespaces' && definition.gvr.group === ''
        ? call.name
        : '',
    name: call.name,
    object: call.object,
    oldObject: call.oldObject,
    options: () => optionsOf(call.operation, ctx, call.options),
    ctx,
  })
}

/** Mutating admission. If it left managedFields unreadable, they are put back as they were. */
export const admitWrite = (
  deps: StoreDeps,
  call: AdmittedChange & { object: KubeObject; ctx: RequestContext; name: string },
): void | Promise<void> => {
  const { object, ctx } = call
  const { refuseCreate } = deps.definition.strategy
  if (call.operation === 'CREATE' && refuseCreate !== undefined) throw refuseCreate(call.name)
  const before = object.metadata.managedFields
  return whenKnown(admit(deps, 'mutate', call), () => {
    if (object.metadata.managedFields === before) return
    const problem = problemOfManagedFields(object.metadata.managedFields)
    if (problem === undefined) return
    if (before === undefined) delete object.metadata.managedFields
    else object.metadata.managedFields = before
    ctx.warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`,
    )
  })
}

/** Puts managedFields on `next`, which is private. */
export const track = (
  { definition, fieldManager }: StoreDeps,
  next: KubeObject,
  live: KubeObject | undefined,
  ctx: RequestContext,
): void | Promise<void> => {
  const view = (object: KubeObject): KubeObject => definition.convert?.fromStorage(object) ?? object
  const tracking = fieldManager.trackUpdate({
    next: view(next),
    live: live === undefined ? undefined : view(live),
    manager: ctx.fieldManager || ctx.userAgent,
    subresource: ctx.subresource,
    now: ctx.now,
  })
  const keep = (managedFields: Awaited<typeof tracking>): void => {
    if (managedFields === undefined) delete next.metadata.managedFields
    else next.metadata.managedFields = managedFields
  }
  return whenKnown(tracking, keep)
}

/** The answer of a dry run: the object as it would be read back. */
export const dryRun = async (
  { storage }: StoreDeps,
  key: string,
  object: KubeObject,
  resourceVersion: string | undefined,
): Promise<StoredObject> =>
  unwritten(key, (await storage.asRead?.(object)) ?? object, resourceVersion)

/** An answer that is not stored: that of a dry run, or of an update that removed its object. */
export const unwritten = (
  key: string,
  object: KubeObject,
  resourceVersion: string | undefined,
): StoredObject => {
  const ordered = inFieldOrder(object)
  if (resourceVersion) ordered.metadata.resourceVersion = resourceVersion
  return new MadeObject({ key, revision: 0 }, ordered)
}

/** selfLink is not stored since v1.20; only dry runs still answer with it. */
export const dropUnstored = ({ metadata }: KubeObject): void => {
  delete metadata.selfLink
}
