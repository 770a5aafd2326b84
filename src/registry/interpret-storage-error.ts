/** Storage speaks codes, the API speaks Status: the one border where they meet (apiserver, pkg/storage/errors). */
import {
  expired,
  failure,
  internalError,
  serviceUnavailable,
  tooLargeResourceVersion,
} from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import { StorageError } from '#storage/driver.js'

const futureRetrySeconds = 1

/** Upstream keeps no watch cache of events, and it is the cache that asks to try again. */
export const hasCache = ({ group, resource }: GroupResource): boolean =>
  resource !== 'events' || (group !== '' && group !== 'events.k8s.io')

interface Failed {
  readonly resource: GroupResource
  readonly operation: string
  /** The revision of the request, where it had one. */
  readonly asked?: number
  /** False for what upstream's cache leaves to the storage behind it. */
  readonly isCached?: boolean
}

/** What `action` yields; what it fails with is thrown as a Status. A promise only where storage has to wait. */
export const interpretingErrors = <T>(
  action: () => T | Promise<T>,
  failed: Failed,
): T | Promise<T> => {
  const refuse = (error: unknown): never => {
    throw interpretStorageError(error, failed)
  }
  try {
    const done = action()
    return done instanceof Promise ? done.catch(refuse) : done
  } catch (error) {
    return refuse(error)
  }
}

/** Storage would have taken less (apiserver, handlers/rest.go isTooLargeError). */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof StorageError && error.cause.code === 'TooLarge'

/** Yields what to throw. An error that does not come from storage stays as it is. */
export const interpretStorageError = (
  error: unknown,
  { resource, operation, asked, isCached = true }: Failed,
): Error => {
  if (!(error instanceof StorageError))
    return error instanceof Error ? error : internalError('unexpected failure', { cause: error })
  switch (error.code) {
    case 'Compacted':
      return expired(
        operation === 'watch' && hasCache(resource)
          ? `too old resource version: ${asked ?? 0} (${error.revision ?? 0})`
          : `The resourceVersion for the provided ${operation === 'watch' ? 'watch' : 'list'} is too old.`,
      )
    case 'FutureRevision':
      return tooLargeResourceVersion(
        asked ?? 0,
        error.revision ?? 0,
        (isCached && hasCache(resource)) || operation === 'watch' ? futureRetrySeconds : 0,
      )
    case 'Unavailable':
    case 'UnknownOutcome':
    case 'NoSpace':
    case 'TooLarge':
      // Upstream's answers show an error that its storage does not know as it is: no reason, no details.
      return failure({ code: 500, message: error.message }, { cause: error })
    case 'ReadOnly':
    case 'Closed':
    case 'Locked':
      return serviceUnavailable('storage does not take writes', { cause: error })
    case 'Corrupt':
    case 'NotTransformed':
      return internalError(error.message, { cause: error })
  }
}
