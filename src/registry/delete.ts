/**
 * The delete path (apiserver, store.go Delete). A graceful deletion or a finalizer makes it an update; an object that
 * nothing holds is removed. `deleted` is false when the object stays.
 */

import { notFound } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { type StoredObject, WriteConflict } from '#cacher/object-storage.js'
import { copyWith } from '#json/copy-with.js'
import type { Int64 } from '#json/int64.js'
import { cloneJson, jsonEqual } from '#json/object.js'
import { beforeDelete, markAsDeleting } from './before-delete.js'
import { type Basis, beginFromCache } from './begin-from-cache.js'
import { asStored } from './decode.js'
import { emptyObject } from './empty-object.js'
import { checkPreconditions } from './preconditions.js'
import { deletionFinalizers } from './propagation.js'
import type { Deleted, DeleteOptions, RequestContext } from './resource-definition.js'
import type { DeletableStore } from './store.js'
import {
  admit,
  existing,
  keyOf,
  readStored,
  type StoreDeps,
  unwritten,
  write,
} from './store-base.js'

interface Deletion {
  readonly deps: StoreDeps
  readonly ctx: RequestContext
  readonly name: string
  /** `gracePeriodSeconds` in it is overwritten with the grace that was decided last. */
  readonly options: DeleteOptions
  readonly askedGraceSeconds: Int64 | undefined
  readonly basis: Basis
}

/** A delete changes only metadata, so the rest is shared with the stored object. */
const withOwnMetadata = (object: KubeObject): KubeObject =>
  copyWith(object, { metadata: copyWith(object.metadata) })

const admitDelete = async (
  { deps, ctx, options }: Pick<Deletion, 'deps' | 'ctx' | 'options'>,
  current: StoredObject,
): Promise<void> => {
  const name = ctx.inCollection !== undefined ? '' : (current.object.metadata.name ?? '')
  const call = { operation: 'DELETE' as const, ctx, name, oldObject: current.object, options }
  await admit(deps, 'mutate', call)
  await admit(deps, 'validate', call)
}

/** The object may have changed since the first check (storage.Preconditions.Check). */
const checkAgain = ({ deps, ctx, name, options }: Deletion, { object }: StoredObject): void =>
  checkPreconditions(options.preconditions, object, { definition: deps.definition, ctx, name })

/**
 * After its first step upstream moves the resourceVersion precondition to what that step wrote, also where it only found
 * that the garbage collector's finalizers no longer hold the object and wrote nothing: that object has no resourceVersion,
 * and so no precondition fits.
 */
const checkNothingWritten = (
  { deps, ctx, name, options }: Deletion,
  { object }: StoredObject,
): void => {
  if (options.preconditions?.resourceVersion === undefined) return
  const preconditions = { ...options.preconditions, resourceVersion: '' }
  checkPreconditions(preconditions, object, { definition: deps.definition, ctx, name })
}

/** A Pod without a node gets a grace of 0. If it was bound meanwhile, that 0 must not stay. */
const forgetDecidedGrace = ({ options, askedGraceSeconds }: Deletion): void => {
  if (askedGraceSeconds === undefined) delete options.gracePeriodSeconds
  else options.gracePeriodSeconds = askedGraceSeconds
}

type Marked =
  /** Written (or would be, under dry run) and it stays. */
  | { next: 'stay'; stored: StoredObject }
  /** Remove it now. `written` is set when an update went before. */
  | { next: 'remove'; current: StoredObject; written?: StoredObject }

/** One try: sets grace, deletionTimestamp and finalizers of `current` as the options ask. */
const markOnce = async (deletion: Deletion, current: StoredObject): Promise<Marked> => {
  const { deps, ctx, options, basis } = deletion
  const { definition, clock, storage } = deps
  const now = clock.now()
  await admitDelete(deletion, current)
  forgetDecidedGrace(deletion)
  const object = withOwnMetadata(current.object)
  const graceful = beforeDelete(object, options, { definition, now })
  if (graceful === 'pending') return { next: 'stay', stored: current }
  const finalizers = deletionFinalizers(object, options, definition)
  if (finalizers.length === 0) delete object.metadata.finalizers
  else object.metadata.finalizers = [...finalizers]
  const held = finalizers.length > 0
  if (graceful === 'no' && !held) return { next: 'remove', current }
  if (graceful === 'no') markAsDeleting(object, now)
  const stays = held || (graceful === 'yes' && (options.gracePeriodSeconds ?? 0) > 0)
  const same = jsonEqual(object.metadata, current.object.metadata)
  // If a removal follows, the next object waits for that too, so that watchers see both writes first.
  if (stays) ctx.inCollection?.decided()
  if (!same) basis.isCurrent = true
  const stored = same
    ? current
    : ctx.dryRun
      ? unwritten(current.key, object, String(current.revision))
      : await write(deps, 'update', () => storage.update(current, object))
  return stays ? { next: 'stay', stored } : { next: 'remove', current: stored, written: stored }
}

const mark = async (deletion: Deletion, first: StoredObject): Promise<Marked> => {
  const { deps, ctx, name } = deletion
  for (let current = first; ; ) {
    checkAgain(deletion, current)
    try {
      return await markOnce(deletion, current)
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
      if (error.current === undefined) throw notFound(deps.definition.gvr, name)
      current = error.current
    }
    ctx.caller.signal.throwIfAborted()
  }
}

/**
 * Compare-and-delete (etcd3/store.go, conditionalDelete). After a conflict upstream removes whatever is stored then. We
 * decide anew, because a finalizer may have been added meanwhile, or a new Pod may have been made that has a grace of its
 * own.
 */
const remove = async (
  deletion: Deletion,
  { current, written }: Marked & { next: 'remove' },
): Promise<Deleted> => {
  const { deps, ctx, name, basis } = deletion
  const { definition, storage } = deps
  await admitDelete(deletion, current)
  const { uid } = current.object.metadata
  if (ctx.dryRun) return { stored: current, deleted: true, uid }
  const { isCurrent } = basis
  basis.isCurrent = true
  ctx.inCollection?.decided()
  let stored: StoredObject
  try {
    stored = await write(deps, 'delete', () => storage.delete(current))
  } catch (error) {
    // If the decision came from an old state, beginFromCache decides anew.
    if (!(error instanceof WriteConflict) || !isCurrent) throw error
    const { current: found } = error
    // Unless somebody else removed it between our two writes, which is what was asked for.
    if (written === undefined || found?.object.metadata.uid === uid) {
      if (found === undefined) throw notFound(definition.gvr, name)
      ctx.caller.signal.throwIfAborted()
      checkAgain(deletion, found)
      return deleteStored(deletion, found)
    }
    stored = written
  }
  await definition.strategy.afterDelete?.(stored.object, ctx)
  return { stored, deleted: true, uid }
}

export const deleteGenerically = async (
  deps: StoreDeps,
  ctx: RequestContext,
  name: string,
  asked: DeleteOptions,
): Promise<Deleted> => {
  const key = keyOf(deps.definition, ctx.namespace, name)
  return beginFromCache(deps, ctx, key, (stored, basis) => {
    const options = copyWith(asked)
    const askedGraceSeconds = asked.gracePeriodSeconds
    const deletion: Deletion = { deps, ctx, name, options, askedGraceSeconds, basis }
    return deleteStored(deletion, existing(deps.definition, name, stored))
  })
}

const deleteStored = async (deletion: Deletion, current: StoredObject): Promise<Deleted> => {
  const { deps, ctx, options } = deletion
  const { definition, clock } = deps
  forgetDecidedGrace(deletion)
  const look = withOwnMetadata(current.object)
  const graceful = beforeDelete(look, options, { definition, now: clock.now() })
  if (graceful === 'pending') return { stored: current, deleted: false }
  const finalizers = look.metadata.finalizers ?? []
  const untouched =
    graceful === 'no' &&
    finalizers.length === 0 &&
    deletionFinalizers(look, options, definition).length === 0
  const marked: Marked = untouched ? { next: 'remove', current } : await mark(deletion, current)
  if (marked.next === 'stay') return { stored: marked.stored, deleted: false }
  // A dry run stops after its first write and shows what that would have written, or an empty object if there was nothing
  // to write.
  if (ctx.dryRun && !untouched) {
    const { written = unwritten(current.key, emptyObject(definition), undefined) } = marked
    return { stored: written, deleted: true, isAnswer: true }
  }
  if (!untouched && marked.written === undefined) checkNothingWritten(deletion, marked.current)
  // Watchers must see the object with its deletionTimestamp before it is gone, as upstream, whose two writes each go to
  // etcd and back.
  if (marked.written !== undefined) await deps.storage.told?.()
  return remove(deletion, marked)
}

/** What strategies with a delete of their own (namespaces) build on. */
export const makeDeletable = (deps: StoreDeps): DeletableStore => ({
  definition: deps.definition,
  get: (ctx, name) => readStored(deps, ctx, name),
  admitDelete: (ctx, current, options) => admitDelete({ deps, ctx, options }, current),
  changeStored: async (ctx, name, change) => {
    const key = keyOf(deps.definition, ctx.namespace, name)
    return beginFromCache(deps, ctx, key, async (stored, basis) => {
      let current = existing(deps.definition, name, stored)
      for (;;) {
        ctx.caller.signal.throwIfAborted()
        const copy = cloneJson(current.object)
        await change(copy, current)
        const object = asStored(deps.definition, copy, current.object)
        const expected = current
        if (jsonEqual(object, expected.object)) return expected
        if (ctx.dryRun) return unwritten(current.key, object, String(current.revision))
        basis.isCurrent = true
        try {
          return await write(deps, 'update', () => deps.storage.update(expected, object))
        } catch (error) {
          if (!(error instanceof WriteConflict)) throw error
          if (error.current === undefined) throw notFound(deps.definition.gvr, name)
          current = error.current
        }
      }
    })
  },
  deleteGenerically: (ctx, name, options) => deleteGenerically(deps, ctx, name, options),
})
