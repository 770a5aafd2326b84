/** Two servers on one etcd, asked in turn by clients that do not know which of them answers. */
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { call, startServer } from '../server/start-server.js'
import { hasEtcd, startEtcd } from './etcd-fixture.js'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'replicas.example.com'

const startTwo = async (t: Test): Promise<readonly [Server, Server]> => {
  const { url } = await startEtcd(t)
  const storage = `etcd:${url}`
  return [await startServer(t, { storage }), await startServer(t, { storage })]
}

const definition = (plural: string) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Cluster',
    names: { plural, kind: plural },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
    ],
  },
})

const isEstablished = (status: { conditions?: { type: string; status: string }[] } = {}) =>
  status.conditions?.some((c) => c.type === 'Established' && c.status === 'True') === true

t.test(
  'a definition that one server calls established is served by both, and goes on being served',
  { skip: !hasEtcd },
  async (t) => {
    const servers = await startTwo(t)
    const [first] = servers
    const statusesOf = async (plural: string) => {
      const created = await call(first, {
        method: 'POST',
        path: definitions,
        body: definition(plural),
      })
      t.equal(created.status, 201)
      for (;;) {
        const { body } = await call(first, { path: `${definitions}/${plural}.${group}` })
        if (isEstablished(body.status)) break
      }
      const statuses = new Set<number>()
      const path = `/apis/${group}/v1/${plural}`
      for (let i = 0; i < 40; i++)
        statuses.add((await call(servers[(i + 1) % 2]!, { path })).status)
      return [...statuses]
    }
    // Many at once, so that each waits while others are written.
    const plurals = Array.from({ length: 12 }, (_, i) => `things${i}`)
    t.same(await Promise.all(plurals.map(statusesOf)), Array(12).fill([200]))
  },
)
