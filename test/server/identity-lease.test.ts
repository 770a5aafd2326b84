import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import t from 'tap'
import { call, startServer } from './start-server.js'

const path =
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity'

interface Lease {
  metadata: { name: string }
  spec: { holderIdentity: string; leaseDurationSeconds: number }
}

t.test('a server tells by a Lease that it is there, and forgets expired ones', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const startAt = async (now: number) => {
    const server = await startServer(t, { storage, clock: { now: () => now } })
    const leases: Lease[] = (await call(server, { path })).body.items
    await server.close()
    return leases.map(({ metadata, spec }) => {
      t.ok(spec.holderIdentity.startsWith(`${metadata.name}_`))
      return metadata.name
    })
  }
  const minute = 60_000
  // Certificates are made by this clock, and are to be valid now.
  const start = Date.now() - 180 * minute
  const [first, ...others] = await startAt(start)
  t.same(others, [])
  const [, second] = [first, ...(await startAt(start + 59 * minute)).filter((n) => n !== first)]
  t.ok(second, 'the first may still be there')
  const last = await startAt(start + 61 * minute)
  t.notOk(last.includes(first!))
  t.ok(last.includes(second!))
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
