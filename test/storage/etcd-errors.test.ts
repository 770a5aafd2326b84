/** Which failed writes did not happen, and of which nobody can say. */
import { type ServiceError, status } from '@grpc/grpc-js'
import t from 'tap'
import { StorageError } from '#storage/driver.js'
import { goText, interpretEtcdError } from '#storage/etcd/errors.js'

const errorOf = (code: status, details: string) =>
  Object.assign(new Error(details), { code, details }) as ServiceError
const codeOf = (code: status, details: string, write = true) =>
  interpretEtcdError(errorOf(code, details), write).code

t.test('what means more than a failure is told from it, for reads and writes', async (t) => {
  const { OUT_OF_RANGE, RESOURCE_EXHAUSTED, INVALID_ARGUMENT } = status
  const revision = 'etcdserver: mvcc: required revision'
  for (const write of [true, false]) {
    t.equal(codeOf(OUT_OF_RANGE, `${revision} has been compacted`, write), 'Compacted')
    t.equal(codeOf(OUT_OF_RANGE, `${revision} is a future revision`, write), 'FutureRevision')
    const full = 'etcdserver: mvcc: database space exceeded'
    t.equal(codeOf(RESOURCE_EXHAUSTED, full, write), 'NoSpace')
    for (const much of ['request is too large', 'too many operations in txn request'])
      t.equal(codeOf(INVALID_ARGUMENT, `etcdserver: ${much}`, write), 'TooLarge')
    t.equal(interpretEtcdError(new Error('no gRPC'), write).code, 'Unavailable')
    const known = new StorageError('Closed', 'closed')
    t.equal(interpretEtcdError(known, write), known)
  }
})

t.test('errors are told as Go prints them', async (t) => {
  t.equal(
    goText(errorOf(status.DEADLINE_EXCEEDED, 'Deadline exceeded after 5s')),
    'context deadline exceeded',
  )
  const own = 'etcdserver: leader changed'
  t.equal(goText(errorOf(status.UNAVAILABLE, own)), own)
  t.equal(goText(errorOf(status.INTERNAL, 'broken')), 'rpc error: code = Internal desc = broken')
})

t.test('what etcd refuses did not happen', async (t) => {
  t.equal(codeOf(status.INVALID_ARGUMENT, 'etcdserver: key is not provided'), 'Unavailable')
  t.equal(codeOf(status.PERMISSION_DENIED, 'etcdserver: permission denied'), 'Unavailable')
  t.equal(codeOf(status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests'), 'Unavailable')
  t.equal(codeOf(status.UNKNOWN, 'etcdserver: invalid auth token'), 'Unavailable')
})

t.test('what broke on the way may have happened', async (t) => {
  t.equal(codeOf(status.UNAVAILABLE, 'etcdserver: request timed out'), 'UnknownOutcome')
  t.equal(codeOf(status.UNKNOWN, 'etcdserver: leader changed'), 'UnknownOutcome')
  t.equal(codeOf(status.DEADLINE_EXCEEDED, 'Deadline exceeded'), 'UnknownOutcome')
  t.equal(codeOf(status.INTERNAL, 'Received RST_STREAM with code 2'), 'UnknownOutcome')
  t.equal(codeOf(status.CANCELLED, 'Received RST_STREAM with code 8'), 'UnknownOutcome')
  t.equal(codeOf(status.RESOURCE_EXHAUSTED, 'Received RST_STREAM with code 11'), 'UnknownOutcome')
  t.equal(codeOf(status.INTERNAL, 'Received RST_STREAM with code 2', false), 'Unavailable')
})
