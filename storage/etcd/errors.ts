/**
 * Turns gRPC errors of etcd into storage errors. Their messages are those that Go prints, since upstream's answers show
 * them.
 */
import { type ServiceError, status } from '@grpc/grpc-js'
import { grpcText } from '#go/grpc-texts.js'
import { StorageError } from '../driver.js'

export const goText = (error: ServiceError): string => {
  const { code, details = '' } = error
  if (code === status.DEADLINE_EXCEEDED) return 'context deadline exceeded'
  // etcd's own errors are printed bare, others as gRPC errors.
  return details.startsWith('etcdserver: ') ? details : grpcText(error)
}

/** The storage error of a failed call. A write without an answer may have happened all the same. */
export const interpretEtcdError = (error: unknown, write: boolean): StorageError => {
  if (error instanceof StorageError) return error
  const options = { cause: error }
  const { code, details = '' } = error as ServiceError
  if (typeof code !== 'number') return new StorageError('Unavailable', String(error), options)
  const text = goText(error as ServiceError)
  if (/required revision has been compacted/.test(details))
    return new StorageError('Compacted', text, options)
  if (/required revision is a future revision/.test(details))
    return new StorageError('FutureRevision', text, options)
  if (/database space exceeded/.test(details)) return new StorageError('NoSpace', text, options)
  if (/request is too large|too many operations/.test(details))
    return new StorageError('TooLarge', text, options)
  return new StorageError(
    write && !isRefusal(code, details) ? 'UnknownOutcome' : 'Unavailable',
    text,
    options,
  )
}

/** Codes of refusals before etcd accepts a request, which nothing between it and us uses. */
const refusing: ReadonlySet<status> = new Set([
  status.INVALID_ARGUMENT,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.NOT_FOUND,
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNIMPLEMENTED,
])

/** A stream that was reset (Internal, Canceled, ResourceExhausted of a proxy) may have been a write that was done. */
const isRefusal = (code: status, details: string): boolean => {
  if (/timed out|leader changed/.test(details) || code === status.UNAVAILABLE) return false
  return refusing.has(code) || details.startsWith('etcdserver: ')
}
