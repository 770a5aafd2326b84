/** Create (apiserver, store.go), with eight tries for a generated name. */
import {
  ApiError,
  alreadyExists,
  alreadyExistsWhileDeleted,
  generateNameConflict,
} from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { othersTurn } from '#async/reading-phase.js'
import { type ObjectStorage, type StoredObject, WriteConflict } from '#cacher/object-storage.js'
import { cloneJson } from '#json/object.js'
import { limits } from '#limits'
import { beforeCreate, identify, receiveNewObject, refuseResourceVersion } from './before-create.js'
import { asStored } from './decode.js'
import { isTooLarge } from './interpret-storage-error.js'
import { dedupOwnerReferences, matchNamespace } from './object-meta.js'
import type { RequestContext } from './resource-definition.js'
import type { UpdateOptions } from './store.js'
import {
  admit,
  admitWrite,
  consistent,
  dropUnstored,
  dryRun,
  keyOf,
  type StoreDeps,
  track,
  write,
} from './store-base.js'

/** An object that cannot be read throws. Then it is only known that the name is taken (apiserver, store.go Create). */
const isBeingDeleted = (current: StoredObject | undefined): boolean => {
  try {
    return current?.object.metadata.deletionTimestamp !== undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return false
  }
}

/** A dry run treats an object that cannot be read as missing (apiserver, registry/dryrun.go). */
const readableOf = async (
  storage: ObjectStorage,
  key: string,
): Promise<StoredObject | undefined> => {
  try {
    return await storage.get(key, consistent)
  } catch {
    return undefined
  }
}

const nameTaken = (
  { definition }: StoreDeps,
  object: KubeObject,
  current: StoredObject | undefined,
): ApiError => {
  const name = object.metadata.name ?? ''
  const deleting = isBeingDeleted(current)
  if (object.metadata.generateName) {
    // Upstream names the group of the internal type (rest/create.go, CheckGeneratedNameError): none for Events of both.
    const { group } = definition.storageVersion
    return generateNameConflict({ ...definition.gvr, group }, name, { deleting })
  }
  return deleting
    ? alreadyExistsWhileDeleted(definition.gvr, name)
    : alreadyExists(definition.gvr, name)
}

/** Writes an object that passed all checks. The caller must not use `passed` any more. WriteConflict if its key is taken. */
const writeNew = async (
  deps: StoreDeps,
  ctx: RequestContext,
  key: string,
  passed: KubeObject,
): Promise<StoredObject> => {
  const { storage, definition } = deps
  const object = asStored(definition, passed)
  if (ctx.dryRun) {
    const current = await readableOf(storage, key)
    if (current !== undefined) throw new WriteConflict(current)
    // Upstream checks the resourceVersion when it writes, so a dry run does not.
    return dryRun(deps, key, object, object.metadata.resourceVersion)
  }
  refuseResourceVersion(object)
  dropUnstored(object)
  await othersTurn
  const { ttlSeconds } = definition
  return write(deps, 'create', () => storage.create(key, object, { ttlSeconds }))
}

/**
 * From the admitted object to the stored one. Also the second half of a create by update, which a WriteConflict (somebody
 * else created the object) turns into an update.
 */
export const createOnce = async (
  deps: StoreDeps,
  ctx: RequestContext,
  object: KubeObject,
  authorize?: UpdateOptions['authorizeCreate'],
): Promise<StoredObject> => {
  const { definition, ids } = deps
  const creation = { definition, ctx, ids }
  identify(object, creation)
  // Only the main resource allocates. An apply to `status` may also create a Service, which then has no address.
  const beginning = ctx.subresource === '' && definition.strategy.beginCreate?.(object, ctx)
  const reservation = beginning ? await beginning : undefined
  let isWritten = false
  try {
    beforeCreate(object, creation)
    await othersTurn
    const name = object.metadata.name ?? ''
    const key = keyOf(definition, ctx.namespace, name)
    await authorize?.()
    await admit(deps, 'validate', { operation: 'CREATE', ctx, name, object })
    const stored = await writeNew(deps, ctx, key, object)
    isWritten = !ctx.dryRun
    if (isWritten && reservation !== undefined) await reservation.commit?.()
    return stored
  } finally {
    if (!isWritten) await reservation?.revert?.()
  }
}

/** Owners alone can make an object too large: it is stored without them then (apiserver, handlers/create.go). */
const createWithin = async (
  deps: StoreDeps,
  ctx: RequestContext,
  object: KubeObject,
): Promise<StoredObject> => {
  try {
    return await createOnce(deps, ctx, object).catch((error) => {
      if (!isTooLarge(error)) throw error
      delete object.metadata.managedFields
      return createOnce(deps, ctx, object)
    })
  } catch (error) {
    if (error instanceof WriteConflict) throw nameTaken(deps, object, error.current)
    throw error
  }
}

export const create = async (
  deps: StoreDeps,
  ctx: RequestContext,
  object: KubeObject,
): Promise<StoredObject> => {
  receiveNewObject(object, deps.definition, ctx)
  await track(deps, object, undefined, ctx)
  const name = object.metadata.name ?? ''
  await admitWrite(deps, { operation: 'CREATE', ctx, name, object })
  matchNamespace(object.metadata, deps.definition, ctx.namespace)
  dedupOwnerReferences(object.metadata, ctx, true)
  // Admission may have given it a name.
  if (object.metadata.name) return createWithin(deps, ctx, object)
  for (let attempt = 1; ; attempt++) {
    try {
      return await createWithin(deps, ctx, cloneJson(object))
    } catch (error) {
      const taken = error instanceof ApiError && error.reason === 'AlreadyExists'
      if (!taken || attempt === limits.generateNameAttemptsMax) throw error
    }
  }
}
