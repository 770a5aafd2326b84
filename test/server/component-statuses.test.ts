/** ComponentStatuses as kubectl get cs asks for them. */
import { createServer } from 'node:https'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { issueCertificate } from '#net/x509.js'
import { componentStatuses, componentStatusPrefix } from '#server/component-statuses.js'
import { listen } from '../listen.js'
import { call, startServer } from './start-server.js'

const path = '/api/v1/componentstatuses'

t.test(
  'every read asks the components anew; there is no version of what is not stored',
  async (t) => {
    const server = await startServer(t)
    const list = (await call(server, { path })).body
    t.strictSame(list.metadata, {})
    t.strictSame(
      list.items.map(({ metadata }: { metadata: object }) => metadata),
      [{ name: 'controller-manager' }, { name: 'scheduler' }, { name: 'etcd-0' }],
    )
    const store = await call(server, { path: `${path}/etcd-0` })
    t.strictSame(store.body, {
      kind: 'ComponentStatus',
      apiVersion: 'v1',
      metadata: { name: 'etcd-0' },
      conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
    })
    t.match(store.headers.warning, /ComponentStatus is deprecated in v1\.19\+/)
    const selected = await call(server, { path: `${path}?fieldSelector=metadata.name%3Detcd-0` })
    t.equal(selected.body.items.length, 1)
    t.strictSame((await call(server, { path: `${path}?labelSelector=a%3Db` })).body.items, [])
    for (const query of ['resourceVersion=x', 'continue=x', 'continue=x&resourceVersion=5']) {
      t.equal((await call(server, { path: `${path}?${query}` })).body.items.length, 3, query)
      t.equal((await call(server, { path: `${path}/etcd-0?${query}` })).status, 200, query)
    }
    t.match((await call(server, { path: `${path}/x` })).body, {
      code: 404,
      message: 'componentstatus "x" not found',
    })
  },
)

t.test('a component is as its /healthz says, and so is the store', async (t) => {
  const notBeforeMs = systemClock.now() - 60_000
  const { certPem: cert, keyPem: key } = issueCertificate({
    use: 'authority',
    subject: { commonName: 'scheduler' },
    notBeforeMs,
    notAfterMs: notBeforeMs + 3_600_000,
  })
  let code = 200
  const scheduler = createServer({ cert, key }, (request, answer) => {
    answer.writeHead(request.url === '/healthz' ? code : 404).end('ok')
  })
  const ports = { 'controller-manager': 1, scheduler: await listen(t, scheduler) }
  const statuses = componentStatuses(async () => 'it burns', ports)
  const of = async (name: string) => {
    const found = await statuses.get(`${componentStatusPrefix}/${name}`, { kind: 'any' })
    return (found!.object.conditions as object[])[0]
  }
  const type = 'Healthy'
  t.strictSame(await of('scheduler'), { type, status: 'True', message: 'ok' })
  code = 500
  const message = 'HTTP probe failed with statuscode: 500'
  t.strictSame(await of('scheduler'), { type, status: 'False', message })
  t.strictSame(await of('controller-manager'), {
    type,
    status: 'False',
    message: 'Get "https://127.0.0.1:1/healthz": dial tcp 127.0.0.1:1: connect: connection refused',
  })
  t.strictSame(await of('etcd-0'), { type, status: 'False', error: 'it burns' })
})
