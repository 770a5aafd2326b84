/**
 * Update (apiserver, store.go Update), which patch, apply and subresources that write their parent also use. It is a
 * compare-and-swap around `change`. Removing the last finalizer of a terminating object removes the object, and nothing
 * is written when nothing changed.
 */

import { notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { othersTurn } from '#async/reading-phase.js'
import { type ObjectStorage, type StoredObject, WriteConflict } from '#cacher/object-storage.js'
import { copyWith } from '#json/copy-with.js'
import {
  beforeUpdate,
  checkResourceVersion,
  resourceVersionOf,
  statusHooks,
} from './before-update.js'
import { type Basis, beginFromCache } from './begin-from-cache.js'
import { createOnce } from './create.js'
import { asStored, hasSameRaw, ordered } from './decode.js'
import { keepManagedFieldsTimes } from './field-manager/times.js'
import { isTooLarge } from './interpret-storage-error.js'
import { dedupOwnerReferences, matchNamespace, sameContent } from './object-meta.js'
import { checkPreconditions } from './preconditions.js'
import type { RequestContext, Strategy } from './resource-definition.js'
import type { AdmitChange, Change, UpdateOptions } from './store.js'
import {
  admit,
  admitWrite,
  dropUnstored,
  dryRun,
  keyOf,
  type StoreDeps,
  track,
  unwritten,
  write,
} from './store-base.js'

interface Updated {
  stored: StoredObject
  created: boolean
}
interface Attempt {
  readonly deps: StoreDeps
  readonly ctx: RequestContext
  readonly name: string
  readonly key: string
  readonly change: Change
  readonly options: UpdateOptions
  readonly basis: Basis
  /** The object was too large, so that this try leaves out managedFields. */
  readonly withoutOwners?: boolean
}

/**
 * Whether the write can be left out. That `next` equals what clients see is not enough: it must also be stored in the
 * same way.
 */
const isUnchanged = (
  deps: StoreDeps,
  next: KubeObject,
  current: StoredObject,
): boolean | Promise<boolean> => {
  const { storage, definition } = deps
  const { strategy } = definition
  const { isAsCreated, object } = current
  if (isAsCreated === true && strategy.isFilledOnRead?.(object) === true) return false
  if (!sameContent(next, object)) return false
  if (!hasSameRaw(definition, next, object)) return false
  if (storage.isStoredAlike === undefined && storage.isStale === undefined) return true
  return write(deps, 'get', () => isStoredSo(storage, current, next))
}

/** Upstream compares stored bytes, and so writes an object that would be stored in another way now. */
const isStoredSo = async (
  storage: ObjectStorage,
  current: StoredObject,
  next: KubeObject,
): Promise<boolean> =>
  (await (storage.isStoredAlike?.(current, next) ?? true)) &&
  !(await (storage.isStale?.(current) ?? false))

const checkStored = (attempt: Attempt, current: StoredObject | undefined): void => {
  const { deps, ctx, name, options } = attempt
  checkPreconditions(options.preconditions, current?.object, {
    definition: deps.definition,
    ctx,
    name,
  })
}

const hooksOf = ({ deps, options, ctx }: Attempt): Parameters<typeof beforeUpdate>[2] => {
  const { definition } = deps
  const { strategy } = definition
  if (options.hooks !== undefined)
    return { definition, hooks: options.hooks, ctx, mayBumpGeneration: true }
  if (ctx.subresource !== 'status')
    return { definition, hooks: strategy, ctx, mayBumpGeneration: true }
  return { definition, hooks: statusHooks(definition), ctx, mayBumpGeneration: false }
}

/** The last finalizer went from a terminating object whose grace is over (apiserver, store.go ShouldDeleteDuringUpdate). */
const isToBeRemoved = (next: KubeObject, previous: KubeObject, strategy: Strategy): boolean =>
  (next.metadata.finalizers ?? []).length === 0 &&
  previous.metadata.deletionTimestamp !== undefined &&
  !previous.metadata.deletionGracePeriodSeconds &&
  (strategy.mayBeRemoved?.(next) ?? true)

const removeWith = async (
  { deps, ctx, key, basis }: Attempt,
  next: KubeObject,
  current: StoredObject,
): Promise<Updated> => {
  const { storage, definition } = deps
  const answer = { stored: unwritten(key, next, String(current.revision)), created: false }
  if (ctx.dryRun) return answer
  const { isCurrent } = basis
  basis.isCurrent = true
  try {
    await write(deps, 'delete', () => storage.delete(current))
  } catch (error) {
    // Two updates may race to remove the last finalizer; the loser's NotFound is ignored (store.go,
    // deleteWithoutFinalizers).
    if (!(error instanceof WriteConflict) || error.current !== undefined || !isCurrent) throw error
  }
  await definition.strategy.afterDelete?.(current.object, ctx)
  return answer
}

const writeNext = async (
  attempt: Attempt,
  changed: KubeObject,
  current: StoredObject,
): Promise<Updated> => {
  const { deps, ctx, key } = attempt
  const { definition, storage } = deps
  const beginning = definition.strategy.beginUpdate?.(changed, current.object, ctx)
  const reservation = beginning && (await beginning)
  let isWritten = false
  try {
    beforeUpdate(changed, current.object, hooksOf(attempt))
    await othersTurn
    await admit(deps, 'validate', {
      operation: 'UPDATE',
      ctx,
      name: attempt.name,
      object: attempt.options.admittedAs?.(changed) ?? changed,
      oldObject: attempt.options.admittedAs?.(current.object) ?? current.object,
    })
    // The object that the client sent is the answer to a removal: it was never stored, and so forgets nothing.
    if (isToBeRemoved(changed, current.object, definition.strategy))
      return await removeWith(attempt, ordered(definition, changed), current)
    const next = asStored(definition, changed, current.object)
    next.metadata = keepManagedFieldsTimes(next, current.object).metadata
    if (ctx.dryRun)
      return {
        stored: await dryRun(deps, key, next, String(current.revision)),
        created: false,
      }
    dropUnstored(next)
    const unchanged = isUnchanged(deps, next, current)
    if (unchanged instanceof Promise ? await unchanged : unchanged)
      return { stored: current, created: false }
    const { ttlSeconds } = definition
    attempt.basis.isCurrent = true
    await othersTurn
    const stored = await write(deps, 'update', () => storage.update(current, next, { ttlSeconds }))
    isWritten = true
    if (reservation !== undefined) await reservation.commit?.()
    return { stored, created: false }
  } finally {
    if (!isWritten) await reservation?.revert?.()
  }
}

const changeAdmission =
  ({ deps, ctx, name }: Attempt): AdmitChange =>
  (object, oldObject) =>
    oldObject === undefined
      ? admitWrite(deps, { operation: 'CREATE', ctx, name, object })
      : admitWrite(deps, { operation: 'UPDATE', ctx, name, object, oldObject })

const createInstead = async (attempt: Attempt): Promise<Updated> => {
  const { deps, ctx, name, change, options } = attempt
  const { definition } = deps
  if (!(definition.strategy.allowCreateOnUpdate ?? false) && options.forceAllowCreate !== true)
    throw notFound(definition.gvr, name)
  checkStored(attempt, undefined)
  const admitChange = changeAdmission(attempt)
  const next = await change(undefined, admitChange)
  // Unlike POST, PUT and apply keep a deletionTimestamp of the client. The resourceVersion only has to be a number here
  // (apiserver, store.go Update), where a POST refuses any.
  resourceVersionOf(next)
  matchNamespace(next.metadata, definition, ctx.namespace)
  if (options.managedFieldsTracked !== true) await track(deps, next, undefined, ctx)
  await admitChange(next)
  if (!ctx.dryRun) delete next.metadata.resourceVersion
  matchNamespace(next.metadata, definition, ctx.namespace)
  dedupOwnerReferences(next.metadata, ctx, true)
  if (attempt.withoutOwners) delete next.metadata.managedFields
  const stored = await createOnce(deps, ctx, next, options.authorizeCreate)
  return { stored, created: true }
}

const once = async (attempt: Attempt, current: StoredObject | undefined): Promise<Updated> => {
  const { deps, ctx, name, change, options } = attempt
  if (current === undefined) return createInstead(attempt)
  const { definition } = deps
  const admitChange = changeAdmission(attempt)
  checkStored(attempt, current)
  let next = await change(current.object, admitChange)
  // Writers of a status hand on the stored metadata, which watchers share. It is copied, since resourceVersion is written
  // into it.
  if (next.metadata === current.object.metadata)
    next = { ...next, metadata: copyWith(next.metadata) }
  if (options.managedFieldsTracked !== true) await track(deps, next, current.object, ctx)
  if (options.admittedAs === undefined) await admitChange(next, current.object)
  dedupOwnerReferences(next.metadata, ctx, true)
  if (attempt.withoutOwners) delete next.metadata.managedFields
  checkResourceVersion(next, {
    definition,
    name,
    current: current.object.metadata.resourceVersion ?? '',
  })
  // An update without a resourceVersion replaces whatever is stored. Validation sees the stored resourceVersion
  // (apiserver, store.go Update).
  if (resourceVersionOf(next) === 0)
    next.metadata.resourceVersion = current.object.metadata.resourceVersion
  return writeNext(attempt, next, current)
}

/** `change` must yield a new object each time; it may share unchanged parts with the stored one. */
export const update = async (
  deps: StoreDeps,
  ctx: RequestContext,
  name: string,
  change: Change,
  options: UpdateOptions = {},
): Promise<Updated> => {
  const key = keyOf(deps.definition, ctx.namespace, name)
  return beginFromCache(deps, ctx, key, async (first, basis) => {
    let attempt: Attempt = { deps, ctx, name, key, change, options, basis }
    for (let current = first; ; ) {
      try {
        return await once(attempt, current)
      } catch (error) {
        if (error instanceof WriteConflict) current = error.current
        // managedFields alone can make an object too large: then it is stored without them. An apply is about them, and
        // fails (apiserver, handlers/patch.go).
        else if (isTooLarge(error) && !attempt.withoutOwners && !options.managedFieldsTracked)
          attempt = { ...attempt, withoutOwners: true }
        else throw error
      }
      // Only before another try: nearly all writes need one try, and reading the signal has a cost.
      ctx.caller.signal.throwIfAborted()
    }
  })
}
