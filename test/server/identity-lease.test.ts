import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { serverIdentity } from '#server/identity-lease.js'
import type { Server } from '#src/index.js'
import { openStorage } from '#storage/open.js'
import { call, startServer } from './start-server.js'

const path =
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity'

interface Lease {
  metadata: { name: string }
  spec: { holderIdentity: string }
}

const leasesOf = async (server: Server): Promise<Lease[]> =>
  (await call(server, { path })).body.items

t.test('a server is called as a kube-apiserver of its machine would be', async (t) => {
  t.equal(
    serverIdentity('vm'),
    'apiserver-wlv32tlttr4jl3gtroqexyxapa',
    'as v1.36.3 on a machine vm',
  )
})

t.test('a server tells by a Lease that it is there, and takes it away when it ends', async (t) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const server = await startServer(t, { storage: driver })
  const [lease, ...others] = await leasesOf(server)
  t.equal(lease!.metadata.name, serverIdentity(os.hostname()))
  t.ok(lease!.spec.holderIdentity.startsWith(`${lease!.metadata.name}_`))
  t.same(others, [])
  await server.close()
  t.same((await driver.range({ prefix: '/registry/leases/kube-system/' })).kvs, [])
})

t.test('Leases of servers that were killed are forgotten when they have ended', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const minute = 60_000
  const now = Date.now()
  const server = await startServer(t, { storage })
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' }
  for (const [name, renewed] of [
    ['apiserver-ended', now - 61 * minute],
    ['apiserver-silent', now - 55 * minute],
  ] as const) {
    const spec = {
      leaseDurationSeconds: 3600,
      renewTime: new Date(renewed).toISOString().replace('Z', '000Z'),
    }
    const body = { metadata: { name, labels }, spec }
    t.equal((await call(server, { method: 'POST', path: path.split('?')[0]!, body })).status, 201)
  }
  await server.close()
  const names = (await leasesOf(await startServer(t, { storage }))).map(
    ({ metadata }) => metadata.name,
  )
  t.same(names, ['apiserver-silent', serverIdentity(os.hostname())].sort())
})

t.test('a machine whose name is no label gets a server without a Lease', async (t) => {
  const name = `${'a'.repeat(64)}.internal`
  const before = t.intercept(os, 'hostname', { value: () => name })
  syncBuiltinESMExports()
  t.teardown(() => {
    before.restore()
    syncBuiltinESMExports()
  })
  const server = await startServer(t)
  t.equal((await call(server, { path: '/readyz' })).text, 'ok')
  t.same((await call(server, { path })).body.items, [])
})
