/** Objects that kube-apiserver's etcd finds too large: the bounds are those of kube-apiserver 1.36.3. */
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { definitionOf, versionOf } from './definition-body.js'
import { call, isServed, startServer } from './start-server.js'

const group = 'fidelity.example'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const namespaced = '/api/v1/namespaces/fidelity'
const things = `/apis/${group}/v1/namespaces/fidelity/bigs`
const revisions = '/apis/apps/v1/namespaces/fidelity/controllerrevisions'

const x = (length: number) => 'x'.repeat(length)
const big = (length: number, metadata = {}, more = {}) => ({
  apiVersion: `${group}/v1`,
  kind: 'Big',
  metadata: { name: 'c', ...metadata },
  spec: { a: x(length), ...more },
})
const podSpec = (length: number) => ({
  containers: [
    {
      name: 'a',
      image: 'b',
      env: Array.from({ length: 20_000 }, (_, i) => ({ name: `E${i}`, value: 'v' })),
      command: [x(length)],
    },
  ],
})
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const definition = (plural: string, kind: string, schema: object = anything) =>
  definitionOf({
    group,
    scope: 'Namespaced',
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [versionOf('v1', schema, { subresources: { status: {} } })],
  })

const start = async (t: Test, storage: string): Promise<Server> => {
  const server = await startServer(t, { storage, disableAdmissionPlugins: ['ServiceAccount'] })
  const body = { metadata: { name: 'fidelity' } }
  await call(server, { method: 'POST', path: '/api/v1/namespaces', body })
  return server
}

const refusal = (message: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  code: 500,
})
const tooLarge = refusal('etcdserver: request is too large')

t.test('what fits is stored, and one byte more is refused', async (t) => {
  const server = await start(t, 'memory:')
  const asked = { method: 'POST', path: definitions, body: definition('bigs', 'Big') }
  t.equal((await call(server, asked)).status, 201)
  await isServed(server, things)
  const bounds: Record<string, [string, number, (length: number) => object]> = {
    'an object in protobuf': [
      revisions,
      1_572_612,
      (length) => ({ metadata: { name: 'c' }, revision: 1, data: { a: x(length) } }),
    ],
    'an object with a lease': [
      `${namespaced}/events`,
      1_572_603,
      (length) => ({
        metadata: { name: 'c', namespace: 'fidelity' },
        message: x(length),
        involvedObject: { namespace: 'fidelity' },
        reason: 'r',
        type: 'Normal',
        reportingComponent: 'y',
        reportingInstance: 'x',
      }),
    ],
    'an object whose JSON is much longer': [
      '/apis/apps/v1/namespaces/fidelity/deployments',
      1_323_519,
      (length) => ({
        metadata: { name: 'c' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: podSpec(length) },
        },
      }),
    ],
    'a custom resource': [things, 1_572_512, (length) => big(length, {}, { l: [1, 2, 3] })],
    'what Go escapes in JSON': [
      things,
      1_572_450,
      (length) =>
        big(
          length - 600_000,
          {},
          {
            a: '<'.repeat(100_000) + x(length - 600_000),
            b: 'é\u2028\u0001\b\f"\\/\x7f',
            f: [1.5, 1e21, 100000000000000000000, 1e-7],
          },
        ),
    ],
  }
  for (const [what, [path, lengthMax, bodyOf]] of Object.entries(bounds)) {
    const create = (length: number) =>
      call(server, { method: 'POST', path: `${path}?fieldManager=m`, body: bodyOf(length) })
    const { status, body } = await create(lengthMax + 1)
    t.equal(status, 500, what)
    t.same(body, tooLarge, what)
    const made = await create(lengthMax)
    t.equal(made.status, 201, what)
    t.notOk(made.body.metadata.managedFields, `${what} has lost its owners`)
    await call(server, { method: 'DELETE', path: `${path}/${made.body.metadata.name}` })
  }
})

t.test('the refusal of a request that is too large to be sent says how large it is', async (t) => {
  const server = await start(t, 'memory:')
  const revision = { metadata: { name: 'c' }, revision: 1, data: { a: x(2_500_000) } }
  // Stored in v1beta1.
  const described = definition('cs', 'C', { type: 'object', description: x(2_200_000) })
  const sizes: [string, object, number][] = [
    [revisions, revision, 2_500_240],
    [definitions, described, 2_200_852],
  ]
  for (const [path, body, bytes] of sizes) {
    const answer = await call(server, { method: 'POST', path, body })
    const message = `rpc error: code = ResourceExhausted desc = trying to send message larger than max (${bytes} vs. 2097152)`
    t.same(answer.body, refusal(message))
  }
})

t.test(
  'an object near the bound is not marked as deleted where the mark has no room',
  async (t) => {
    const server = await start(t, 'memory:')
    await call(server, { method: 'POST', path: definitions, body: definition('bigs', 'Big') })
    await isServed(server, things)
    const finalizers = ['a.b/c']
    const make = (length: number) =>
      call(server, {
        method: 'POST',
        path: `${things}?fieldManager=m`,
        body: big(length, { finalizers }),
      })
    const path = `${things}/c`
    const created = await make(1_572_200)
    t.equal(created.status, 201)
    for (const asked of [path, things]) {
      t.same((await call(server, { method: 'DELETE', path: asked })).body, tooLarge)
      t.same((await call(server, { path })).body, created.body)
    }
    const headers = { 'content-type': 'application/merge-patch+json' }
    const patch = { metadata: { finalizers: null }, spec: { a: 'x' } }
    t.equal((await call(server, { method: 'PATCH', path, body: patch, headers })).status, 200)
    await call(server, { method: 'DELETE', path })
    await make(1_572_100)
    const { status, body } = await call(server, { method: 'DELETE', path })
    t.equal(status, 200)
    t.ok(body.metadata.deletionTimestamp)
  },
)

t.test(
  'etcd is sent protobuf where JSON would be too large for it',
  { skip: !hasEtcd },
  async (t) => {
    const { url } = await startEtcd(t)
    const server = await start(t, `etcd:${url}`)
    const path = `${namespaced}/pods`
    const { status, body } = await call(server, {
      method: 'POST',
      path,
      body: { metadata: { name: 'c', finalizers: ['a.b/c'] }, spec: podSpec(1_300_000) },
    })
    t.equal(status, 201)
    t.ok(JSON.stringify(body).length > 1024 * 1536)
    t.same((await call(server, { path: `${path}/c` })).body, body)
    const other = await start(t, `etcd:${url}`)
    t.same((await call(other, { path: `${path}/c` })).body, body)
    const headers = { 'content-type': 'application/merge-patch+json' }
    const patch = { metadata: { labels: { a: 'b' } } }
    const patched = await call(other, { method: 'PATCH', path: `${path}/c`, body: patch, headers })
    t.match(patched.body, { metadata: { labels: { a: 'b' }, uid: body.metadata.uid } })
    t.same(patched.body.spec, body.spec)
  },
)
