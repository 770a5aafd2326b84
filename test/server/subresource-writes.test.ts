/** What writes to subresources do where there is no object yet. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const services = '/api/v1/namespaces/default/services'

t.test('a Service that its status makes has no address, and gets none later', async (t) => {
  const server = await startServer(t)
  const put = (path: string, body: unknown) => call(server, { method: 'PUT', path, body })
  const spec = { ports: [{ port: 80 }], type: 'NodePort' }
  const made = await put(`${services}/a/status`, { metadata: { name: 'a' }, spec })
  t.equal(made.status, 201)
  t.notOk('clusterIP' in made.body.spec)
  t.notOk('nodePort' in made.body.spec.ports[0])
  const labelled = await put(`${services}/a`, {
    ...made.body,
    metadata: { ...made.body.metadata, labels: { a: 'b' } },
  })
  t.equal(labelled.status, 200)
  t.notOk('clusterIP' in labelled.body.spec)
  t.ok(labelled.body.spec.ports[0].nodePort > 0)
  const { metadata } = labelled.body
  const again = await put(`${services}/a`, { metadata, spec: { ports: [{ port: 81 }] } })
  t.notOk('clusterIPs' in again.body.spec)
})

t.test(
  'what an apply finds wrong with what is stored is told with its path, after its kind',
  async (t) => {
    const server = await startServer(t)
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    const send = (method: string, path: string, body: object, type: string) =>
      call(server, { method, path, body, headers: { 'content-type': type } })
    await send('POST', accounts, { metadata: { name: 'a' }, secrets: [{}] }, 'application/json')
    const none = { metadata: { managedFields: [{}] } }
    await send('PATCH', `${accounts}/a`, none, 'application/merge-patch+json')
    const apply = async (apiVersion: string) => {
      const body = { apiVersion, kind: 'ServiceAccount', metadata: { name: 'a' } }
      const path = `${accounts}/a?fieldManager=m`
      return (await send('PATCH', path, body, 'application/apply-patch+yaml')).body
    }
    t.match(await apply('v9'), {
      code: 400,
      message: 'invalid object type: /v9, Kind=ServiceAccount',
    })
    t.match(await apply('v1'), {
      code: 500,
      message: /to smd typed: \.secrets: element 0: associative/,
    })
  },
)

t.test('an apply that cannot be read is not looked at where nothing may be made', async (t) => {
  const server = await startServer(t)
  const apply = async (path: string) => {
    const headers = { 'content-type': 'application/apply-patch+yaml' }
    const asked = { method: 'PATCH', path: `${path}?fieldManager=m`, body: [], headers }
    return (await call(server, asked)).status
  }
  t.equal(await apply('/api/v1/namespaces/default/pods/none/status'), 404)
  t.equal(await apply('/apis/apps/v1/namespaces/default/deployments/none/scale'), 404)
  t.equal(await apply('/api/v1/namespaces/default/pods/none'), 400)
  t.equal(await apply(`${services}/none/status`), 400)
})
