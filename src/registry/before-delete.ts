/** The arithmetic of graceful deletion (apiserver, rest/delete.go). */
import { formatTime, parseTime } from '#api/clock.js'
import { conflictOfKind, internalError } from '#api/errors.js'
import { graceMs } from '#api/grace-period.js'
import type { KubeObject } from '#api/object.js'
import type { Int64 } from '#json/int64.js'
import type { DeleteOptions, ResourceDefinition } from './resource-definition.js'
import { checkDeleteOptions } from './validate-options.js'

type Graceful =
  /** Nothing to wait for: remove, or mark as deleting when finalizers hold it. */
  | 'no'
  /** `object` was changed: deletionTimestamp and grace are set. */
  | 'yes'
  /** It already ends, and not later than asked: nothing is written. */
  | 'pending'

/** Fail-early check of the client's preconditions; it names the Kind. */
const checkDeletePreconditions = (
  object: KubeObject,
  options: DeleteOptions,
  { gvk, storageVersion = gvk }: ResourceDefinition,
): void => {
  const kind = { group: storageVersion.group, kind: gvk.kind }
  const { uid, resourceVersion } = options.preconditions ?? {}
  const meta = object.metadata
  const name = meta.name ?? ''
  if (uid !== undefined && uid !== meta.uid)
    throw conflictOfKind(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${meta.uid ?? ''}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== meta.resourceVersion)
    throw conflictOfKind(
      kind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${meta.resourceVersion ?? ''}). The object might have been modified`,
    )
}

const setEnd = ({ metadata }: KubeObject, endMs: number, grace: Int64): void => {
  metadata.deletionTimestamp = formatTime(endMs)
  // A BigInt is written like any number. The type says number because clients read a double anyway.
  metadata.deletionGracePeriodSeconds = grace as number
}

/** An object that is already terminating can only be made to end sooner. */
const shorten = (object: KubeObject, options: DeleteOptions, now: number): Graceful => {
  const meta = object.metadata
  const stored = meta.deletionGracePeriodSeconds ?? 0
  if (stored === 0) return 'no'
  const asked = options.gracePeriodSeconds
  if (asked === undefined) {
    options.gracePeriodSeconds = stored
    return 'pending'
  }
  if (asked >= stored) return 'pending'
  let end = parseTime(meta.deletionTimestamp ?? '') - graceMs(stored) + graceMs(asked)
  let grace = asked
  if (end < now) {
    end = now
    // Its grace is over, but the kubelet must still see one change and remove the object itself.
    if (asked !== 0) grace = 1
  }
  setEnd(object, end, grace)
  return 'yes'
}

/** `object` is a private copy; `options` gets the grace that was decided. Throws 409 and 422. */
export const beforeDelete = (
  object: KubeObject,
  options: DeleteOptions,
  { definition, now }: { definition: ResourceDefinition; now: number },
): Graceful => {
  checkDeleteOptions(options)
  checkDeletePreconditions(object, options, definition)
  const meta = object.metadata
  if (options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0)
    options.gracePeriodSeconds = 1
  if (meta.deletionGracePeriodSeconds !== undefined && meta.deletionGracePeriodSeconds < 0)
    meta.deletionGracePeriodSeconds = 1
  const { checkGracefulDelete } = definition.strategy
  if (checkGracefulDelete === undefined) return 'no'
  if (meta.deletionTimestamp !== undefined) return shorten(object, options, now)
  if (!checkGracefulDelete(object, options)) return 'no'
  if (options.gracePeriodSeconds === undefined)
    throw internalError('options.GracePeriodSeconds should not be nil')
  setEnd(object, now + graceMs(options.gracePeriodSeconds), options.gracePeriodSeconds)
  bumpGeneration(object)
  return 'yes'
}

const bumpGeneration = ({ metadata }: KubeObject): void => {
  if ((metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation ?? 0) + 1
}

/** An object that only its finalizers hold (store.go, markAsDeleting). */
export const markAsDeleting = (object: KubeObject, now: number): void => {
  const meta = object.metadata
  if (meta.deletionTimestamp === undefined) bumpGeneration(object)
  if (meta.deletionTimestamp === undefined || parseTime(meta.deletionTimestamp) > now)
    meta.deletionTimestamp = formatTime(now)
  meta.deletionGracePeriodSeconds = 0
}
