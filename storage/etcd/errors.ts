/** gRPC errors of etcd as storage errors. */
import { type ServiceError, status } from '@grpc/grpc-js'
import { StorageError } from '../driver.js'

/** Nothing was sent: the write has certainly not happened. */
const neverSent = /No connection established|ECONNREFUSED|Name resolution failed|not been sent/i

/** What a failed call means. `write`: it may have happened all the same when no answer came. */
export const interpretEtcdError = (error: unknown, write: boolean): StorageError => {
  if (error instanceof StorageError) return error
  const { code, details = String(error) } = error as ServiceError
  const cause = error
  if (/required revision has been compacted/.test(details)) {
    return new StorageError('Compacted', details, { cause })
  }
  if (/required revision is a future revision/.test(details)) {
    return new StorageError('FutureRevision', details, { cause })
  }
  if (/database space exceeded/.test(details)) {
    return new StorageError('NoSpace', `etcd: ${details}`, { cause })
  }
  if (/request is too large|too many operations/.test(details)) {
    return new StorageError('TooLarge', `etcd: ${details}`, { cause })
  }
  const refused = code === status.UNAVAILABLE && neverSent.test(details)
  const answered = code !== status.UNAVAILABLE && code !== status.DEADLINE_EXCEEDED
  const timedOut = /timed out|leader changed/.test(details)
  const known = refused || (answered && !timedOut)
  return write && !known
    ? new StorageError('UnknownOutcome', `etcd: ${details}`, { cause })
    : new StorageError('Unavailable', `etcd: ${details}`, { cause })
}
