import t from 'tap'
import { eventually } from '../eventually.js'
import { answerThat, call, isServed, startServer } from './start-server.js'
import { startWebhook } from './webhook-server.js'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const own = `${definitions}/things.example.com`
const things = '/apis/example.com/v1/namespaces/default/things'

const definition = (served = true) => ({
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      { name: 'v1', served, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
    ],
  },
})

t.test('objects go with their definition even if no version of it is served', async (t) => {
  const server = await startServer(t)
  const create = () => call(server, { method: 'POST', path: definitions, body: definition() })
  await create()
  await isServed(server, things)
  const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' } }
  t.equal((await call(server, { method: 'POST', path: things, body: thing })).status, 201)
  const patch = {
    method: 'PATCH',
    path: own,
    body: { spec: definition(false).spec },
    headers: { 'content-type': 'application/merge-patch+json' },
  }
  t.equal((await call(server, patch)).status, 200)
  await answerThat(server, { path: things }, 'is not served', ({ status }) => status === 404)
  await call(server, { method: 'DELETE', path: own })
  await answerThat(server, { path: own }, 'is gone', ({ status }) => status === 404)
  await create()
  t.strictSame((await isServed(server, things)).body.items, [])
})

t.test('a definition whose status is refused for a while is served in the end', async (t) => {
  const server = await startServer(t)
  let allowed = false
  const { clientConfig, reviews } = await startWebhook(t, () => ({ allowed }))
  const webhook = {
    name: 'statuses.example.com',
    clientConfig,
    rules: [
      {
        operations: ['UPDATE'],
        apiGroups: ['apiextensions.k8s.io'],
        apiVersions: ['*'],
        resources: ['customresourcedefinitions/status'],
      },
    ],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  const body = { metadata: { name: 'w' }, webhooks: [webhook] }
  t.equal((await call(server, { method: 'POST', path, body })).status, 201)
  await call(server, { method: 'POST', path: definitions, body: definition() })
  await eventually('a first try', () => reviews.length > 0)
  allowed = true
  await isServed(server, things)
})
