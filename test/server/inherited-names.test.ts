/** What every object of JavaScript has is a name like any other, and no entry of a table. */
import { once } from 'node:events'
import http2 from 'node:http2'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { call, startServer } from './start-server.js'

const server = await startServer(t, {})
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  call(server, { method: 'POST', path, body, headers })

t.test('a kind that is none is refused as such', async (t) => {
  const flowcontrol = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas'
  const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true }]
  const flows = await post(flowcontrol, {
    metadata: { name: 'flows' },
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      rules: [{ subjects: [{ kind: 'constructor' }], resourceRules }],
    },
  })
  t.match(flows.body.details.causes, [
    {
      field: 'spec.rules[0].subjects[0].kind',
      message:
        'Unsupported value: "constructor": supported values: "Group", "ServiceAccount", "User"',
    },
  ])
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await post(accounts, { metadata: { name: 'account' } })
  const token = await post(`${accounts}/account/token`, {
    spec: { boundObjectRef: { kind: 'constructor', apiVersion: 'v1', name: 'x' } },
  })
  t.match(token, {
    status: 400,
    body: { message: 'cannot bind token to object of type /v1, Kind=constructor' },
  })
})

t.test('a type of Secret is one that nobody knows', async (t) => {
  const secrets = '/api/v1/namespaces/default/secrets'
  for (const type of ['constructor', 'toString', '__proto__']) {
    const { status, body } = await post(secrets, {
      metadata: { name: type.toLowerCase().replaceAll('_', 'x') },
      type,
    })
    t.match([status, body.type], [201, type])
  }
})

t.test('a label of nodes is one that a Pod does not name', async (t) => {
  const other = await startServer(t, {
    enableAdmissionPlugins: ['PodNodeSelector'],
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const send = (path: string, body: object) => call(other, { method: 'POST', path, body })
  const name = 'selected'
  const annotations = { 'scheduler.alpha.kubernetes.io/node-selector': 'constructor=a' }
  await send('/api/v1/namespaces', { metadata: { name, annotations } })
  const scheduling = { nodeSelector: { toString: 'b' } }
  const classOf = { metadata: { name: 'class' }, handler: 'h', scheduling }
  t.equal((await send('/apis/node.k8s.io/v1/runtimeclasses', classOf)).status, 201)
  const containers = [{ name: 'c', image: 'i' }]
  const spec = { containers, runtimeClassName: 'class', nodeSelector: { own: 'c' } }
  t.match(await send(`/api/v1/namespaces/${name}/pods`, { metadata: { name: 'p' }, spec }), {
    status: 201,
    body: { spec: { nodeSelector: { constructor: 'a', own: 'c', toString: 'b' } } },
  })
})

t.test('who is impersonated may have more of such a name', async (t) => {
  const { body } = await post(
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    {},
    {
      'impersonate-user': 'bob',
      'impersonate-extra-__proto__': 'a',
      'impersonate-extra-constructor': 'b',
    },
  )
  t.same(Object.entries(body.status.userInfo.extra), [
    ['__proto__', ['a']],
    ['constructor', ['b']],
  ])
})

t.test('a method is one that nobody knows, and holds up nobody else', async (t) => {
  // Without credentials: all of them are in one flow, and have a session each.
  const ask = async (method: string, path: string) => {
    const session = http2.connect(server.url, { ca: server.caPem })
    const stream = session.request({ ':method': method, ':path': path })
    const [headers] = await once(stream, 'response')
    return [headers[':status'], await text(stream)]
  }
  for (const method of ['constructor', 'toString', '__proto__'])
    t.match(await ask(method, '/api/v1/pods'), [403, /\\"system:anonymous\\" cannot {2}resource/])
  t.match(await ask('constructor', '/x'), [403, /cannot constructor path/])
  t.match(await ask('GET', '/version'), [200, /v1.36/])
})

t.test('a version of a body is one that nobody knows', async (t) => {
  for (const apiVersion of ['constructor/v1', '__proto__/v1'])
    t.match(await post('/api/v1/namespaces/default/pods', { kind: 'Foo', apiVersion }), {
      status: 400,
      body: { message: /no kind "Foo" is registered for version "\w+\/v1"/ },
    })
})
