/** gRPC errors of etcd as storage errors. Their messages are what Go prints, which upstream's answers show. */
import { type ServiceError, status } from '@grpc/grpc-js'
import { grpcText } from '#api/grpc-texts.js'
import { StorageError } from '../driver.js'

export const goText = (error: ServiceError): string => {
  const { code, details = '' } = error
  if (code === status.DEADLINE_EXCEEDED) return 'context deadline exceeded'
  // What etcd itself says is an error of etcd's in Go.
  return details.startsWith('etcdserver: ') ? details : grpcText(error)
}

/** What a failed call means. `write`: it may have happened all the same when no answer came. */
export const interpretEtcdError = (error: unknown, write: boolean): StorageError => {
  if (error instanceof StorageError) return error
  const options = { cause: error }
  const { code, details } = error as ServiceError
  if (typeof code !== 'number') return new StorageError('Unavailable', String(error), options)
  const text = goText(error as ServiceError)
  if (/required revision has been compacted/.test(details))
    return new StorageError('Compacted', text, options)
  if (/required revision is a future revision/.test(details))
    return new StorageError('FutureRevision', text, options)
  if (/database space exceeded/.test(details)) return new StorageError('NoSpace', text, options)
  if (/request is too large|too many operations/.test(details))
    return new StorageError('TooLarge', text, options)
  const answered = code !== status.UNAVAILABLE && code !== status.DEADLINE_EXCEEDED
  const known = answered && !/timed out|leader changed/.test(details)
  return new StorageError(write && !known ? 'UnknownOutcome' : 'Unavailable', text, options)
}
