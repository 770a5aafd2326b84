/**
 * Namespaces end in two steps: DELETE marks them, and whoever has emptied them removes spec.finalizers (kubernetes,
 * core/namespace/storage).
 */
import { formatTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { guardDelete } from '#registry/preconditions.js'
import type { Deleted, DeleteOptions, RequestContext } from '#registry/resource-definition.js'
import type { DeletableStore } from '#registry/store.js'
import { foregroundFinalizer, orphanFinalizer } from '#registry/validate-object-meta.js'

/** Unlike elsewhere, orphanDependents=false means foreground here (core/namespace/storage, Delete). */
const wanted = (finalizer: string, options: DeleteOptions, had: boolean): boolean => {
  const isOrphan = finalizer === orphanFinalizer
  if (options.orphanDependents !== undefined) return options.orphanDependents === isOrphan
  if (options.propagationPolicy !== undefined)
    return options.propagationPolicy === (isOrphan ? 'Orphan' : 'Foreground')
  return had
}

const finalizersFor = (object: KubeObject, options: DeleteOptions): string[] => {
  const finalizers = object.metadata.finalizers ?? []
  let next = [...finalizers]
  for (const finalizer of [orphanFinalizer, foregroundFinalizer]) {
    const had = finalizers.includes(finalizer)
    const has = wanted(finalizer, options, had)
    if (has && !had) next.push(finalizer)
    if (!has) next = next.filter((f) => f !== finalizer)
  }
  return next
}

const markAsTerminating = (object: KubeObject, options: DeleteOptions, now: number): void => {
  object.metadata.deletionTimestamp ??= formatTime(now)
  object.status = { ...object.status, phase: 'Terminating' }
  const finalizers = finalizersFor(object, options)
  if (finalizers.length === 0) delete object.metadata.finalizers
  else object.metadata.finalizers = finalizers
}

export const deleteNamespace = async (
  { name, options, store }: { name: string; options: DeleteOptions; store: DeletableStore },
  ctx: RequestContext,
): Promise<Deleted> => {
  const current = await store.get(ctx, name)
  const { object } = current
  // A namespace that was made again under the same name is not the one that was meant.
  const guarded = guardDelete(options, object, store.definition)
  if (object.metadata.deletionTimestamp !== undefined) {
    if ((object.spec?.finalizers ?? []).length > 0) return { stored: current, deleted: false }
    return store.deleteGenerically(ctx, name, guarded)
  }
  const stored = await store.changeStored(ctx, name, async (copy, latest) => {
    guardDelete(guarded, copy, store.definition)
    await store.admitDelete(ctx, latest, guarded)
    markAsTerminating(copy, guarded, ctx.now)
  })
  return { stored, deleted: false }
}

/**
 * A namespace may not go while it still names somebody who has to empty it (core/namespace/storage,
 * ShouldDeleteNamespaceDuringUpdate).
 */
export const namespaceMayBeRemoved = (object: KubeObject): boolean =>
  (object.spec?.finalizers ?? []).length === 0
