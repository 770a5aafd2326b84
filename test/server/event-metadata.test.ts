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
})
