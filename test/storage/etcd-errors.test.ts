/** Which failed writes did not happen, and of which nobody can say. */
import { status } from '@grpc/grpc-js'
import t from 'tap'
import { interpretEtcdError } from '#storage/etcd/errors.js'

const codeOf = (code: status, details: string, write = true) =>
  interpretEtcdError(Object.assign(new Error(details), { code, details }), write).code

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
