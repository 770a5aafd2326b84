import t from 'tap'
import { call, startServer } from './start-server.js'

t.test('an Event of events.k8s.io reports metadata before immutable fields', async (t) => {
  const server = await startServer(t)
  const path = '/apis/events.k8s.io/v1/namespaces/default/events'
  const event = {
    metadata: { name: 'e' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
    action: 'A',
    reason: 'R',
    type: 'Normal',
    regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
  }
  t.equal((await call(server, { method: 'POST', path, body: event })).status, 201)
  const ownerReferences = [{ apiVersion: 'v1', kind: 'X', name: 'o', uid: '' }]
  const { body } = await call(server, {
    method: 'PATCH',
    path: `${path}/e`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { ownerReferences }, reportingController: '' },
  })
  const owner = 'metadata.ownerReferences.uid'
  const controller = 'reportingController'
  t.same(
    body.details.causes.map((cause: { field: string }) => cause.field),
    [owner, owner, controller, controller, controller, owner, controller],
  )
  const taken = await call(server, {
    method: 'POST',
    path,
    body: { ...event, metadata: { name: 'e', generateName: 'e-' } },
  })
  t.match(taken.body.message, /^events "e" already exists, the server was not able to generate/)
  t.strictSame(taken.body.details.group, undefined, 'the group of Events as they are stored')
  const again = await call(server, { method: 'POST', path, body: event })
  t.equal(again.body.message, 'events.events.k8s.io "e" already exists')
})

t.test('fields that are not known are told before a version that is another one', async (t) => {
  const server = await startServer(t)
  const write = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const path = '/apis/events.k8s.io/v1/namespaces/default/events'
  const body = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'x' }, bogus: 1 }
  const version =
    'the API version in the data (v1) does not match the expected API version (events.k8s.io/v1)'
  const warned = await write(path, body)
  t.equal(warned.headers.warning, '299 - "unknown field \\"bogus\\""')
  t.equal(warned.body.message, version)
  const refused = await write(`${path}?fieldValidation=Strict`, body)
  t.equal(
    refused.body.message,
    'Event in version "v1" cannot be handled as a Event: strict decoding error: unknown field "bogus"',
  )
  const ignored = await write(`${path}?fieldValidation=Ignore`, body)
  t.equal(ignored.headers.warning, undefined)
  t.equal(ignored.body.message, version)
})
