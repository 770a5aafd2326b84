/** Where clients inside of the cluster find its API servers: of one server, and of several on one etcd. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { Server, ServerOptions } from '#src/index.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { call, startServer, startWithLimits } from './start-server.js'

const endpoints = '/api/v1/namespaces/default/endpoints/kubernetes'
const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes'
const service = '/api/v1/namespaces/default/services/kubernetes'

interface Shown {
  readonly ips: readonly string[]
  readonly port: number | undefined
}

/** What both tell, which is the same. */
const shownBy = async (t: Test, server: Server): Promise<Shown> => {
  const [{ body }, mirror] = [
    await call(server, { path: endpoints }),
    (await call(server, { path: slice })).body,
  ]
  const [subset] = body.subsets ?? []
  const ips: string[] = (subset?.addresses ?? []).map(({ ip }: { ip: string }) => ip)
  const mirrored = (mirror.endpoints ?? []).flatMap((one: { addresses: string[] }) => one.addresses)
  if (`${ips}` !== `${mirrored}`) return shownBy(t, server)
  return { ips, port: subset?.ports[0].port }
}

const shows = (t: Test, server: Server, ips: readonly string[]): Promise<boolean> =>
  eventually(
    `the endpoints are ${ips}`,
    async () => `${(await shownBy(t, server)).ips}` === `${ips}`,
  )

t.test('the one server of a store shows itself as it is now', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const advertiseAddress = '10.9.0.1'
  const first = await startServer(t, { storage, advertiseAddress })
  const before = await shownBy(t, first)
  t.same(before, { ips: ['10.9.0.1'], port: Number(new URL(first.url).port) })
  await first.close()
  const port = await freePort()
  const second = await startServer(t, { storage, advertiseAddress: '10.9.0.2', port })
  t.same(await shownBy(t, second), { ips: ['10.9.0.2'], port })
})

t.test('what somebody else made of it is put right while the server runs', async (t) => {
  const server = await startServer(t, { advertiseAddress: '10.9.0.1' })
  await call(server, { method: 'DELETE', path: service })
  await call(server, {
    method: 'PATCH',
    path: endpoints,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { labels: null }, subsets: [{ addresses: [{ ip: '10.1.1.1' }] }] },
  })
  const back = async () => (await call(server, { path: service })).status === 200
  await eventually('the Service is there again', back)
  await shows(t, server, ['10.9.0.1'])
  const { body } = await call(server, { path: endpoints })
  t.equal(body.metadata.labels['endpointslice.kubernetes.io/skip-mirror'], 'true')
})

t.test('servers on one etcd', { skip: !hasEtcd }, async (t) => {
  const etcd = await startEtcd(t)
  const startAt = (advertiseAddress: string, options: ServerOptions = {}): Promise<Server> =>
    startServer(t, { storage: `etcd:${etcd.url}`, advertiseAddress, ...options })
  const driver = await openStorage(`etcd:${etcd.url}`, { clock: systemClock })
  t.teardown(() => driver.close())
  /** As a kube-apiserver leaves it that was killed. */
  const dead = '10.9.0.9'
  const value = Buffer.from(
    'k8s\0\n\x0f\n\x02v1\x12\tEndpoints\x12"\n\x10\n\0\x12\0\x1a\0"\0*\x002\x008\x01B\0\x12\x0e\n\f\n\b10.9.0.9\x1a\0\x1a\0"\0',
    'latin1',
  )
  const key = `/registry/masterleases/${dead}`
  await driver.txn([], [{ type: 'put', key, value }])

  const [a, b, c] = await Promise.all(['10.9.0.1', '10.9.0.2', '10.9.0.3'].map((ip) => startAt(ip)))
  const live = ['10.9.0.1', '10.9.0.2', '10.9.0.3', dead]
  for (const server of [a!, b!, c!]) await shows(t, server, live)
  const { port } = await shownBy(t, a!)
  t.ok([a, b, c].map((server) => Number(new URL(server!.url).port)).includes(port!))
  // As etcd does when its lease ends.
  await driver.txn([], [{ type: 'delete', key }])
  await shows(t, b!, ['10.9.0.1', '10.9.0.2', '10.9.0.3'])
  await a!.close()
  t.equal((await driver.get('/registry/masterleases/10.9.0.1')).kv, undefined)
  await shows(t, b!, ['10.9.0.2', '10.9.0.3'])
  const again = await startAt('10.9.0.1', { endpointReconcilerType: 'none' })
  await shows(t, again, ['10.9.0.2', '10.9.0.3'])

  await again.close()
  await b!.close()
  await c!.close()
  const after = await driver.range({ prefix: '/registry/masterleases/' })
  t.same(after.kvs, [])
  const stored = await driver.get('/registry/endpointslices/default/kubernetes')
  t.match(JSON.parse(String(stored.kv!.value)), { endpoints: null, ports: null })
  const identities = await driver.range({ prefix: '/registry/leases/kube-system/' })
  t.same(identities.kvs, [])
})

t.test('as many as there are to be', { skip: !hasEtcd }, async (t) => {
  const etcd = await startEtcd(t)
  const startAt = (advertiseAddress: string): Promise<Server> => {
    // Who lives joins again in each round: the first one would be back before a slow machine has looked.
    const limits = { peerRenewMs: 3_600_000 }
    return startWithLimits(t, limits, {
      storage: `etcd:${etcd.url}`,
      advertiseAddress,
      endpointReconcilerType: 'master-count',
      apiserverCount: 2,
    })
  }
  const a = await startAt('10.9.0.1')
  const b = await startAt('10.9.0.2')
  t.same((await shownBy(t, a)).ips, ['10.9.0.1', '10.9.0.2'])
  const c = await startAt('10.9.0.3')
  // The one that comes behind the new one makes room, and the last is followed by the first.
  t.same((await shownBy(t, c)).ips, ['10.9.0.2', '10.9.0.3'])
  await b.close()
  t.same((await shownBy(t, c)).ips, ['10.9.0.3'])
})
