/** Two servers on one etcd, asked in turn by clients that do not know which of them answers. */
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { definitionOf, versionOf } from '../server/definition-body.js'
import { answerThat, call, startServer } from '../server/start-server.js'
import { hasEtcd, startEtcd } from './etcd-fixture.js'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'replicas.example.com'

const startTwo = async (t: Test): Promise<{ url: string; servers: readonly [Server, Server] }> => {
  const { url } = await startEtcd(t)
  const storage = `etcd:${url}`
  return { url, servers: [await startServer(t, { storage }), await startServer(t, { storage })] }
}

const definition = (plural: string) =>
  definitionOf({
    group,
    scope: 'Cluster',
    names: { plural, kind: plural },
    versions: [versionOf('v1', { type: 'object' })],
  })

const isEstablished = (status: { conditions?: { type: string; status: string }[] } = {}) =>
  status.conditions?.some((c) => c.type === 'Established' && c.status === 'True') === true

t.test(
  'a definition that one server calls established is served by both, and goes on being served',
  { skip: !hasEtcd },
  async (t) => {
    const { servers } = await startTwo(t)
    const [first] = servers
    const statusesOf = async (plural: string) => {
      const created = await call(first, {
        method: 'POST',
        path: definitions,
        body: definition(plural),
      })
      t.equal(created.status, 201)
      const own = { path: `${definitions}/${plural}.${group}` }
      await answerThat(first, own, 'is established', (a) => isEstablished(a.body.status))
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

t.test(
  'a watch that nothing happens on is told how far etcd has come, whoever moved it',
  { skip: !hasEtcd },
  async (t) => {
    const { url, servers } = await startTwo(t)
    const path = '/api/v1/namespaces/default/configmaps'
    const idle = servers.map((server) =>
      call(server, { path: `${path}?watch=1&allowWatchBookmarks=1&timeoutSeconds=6` }),
    )
    // Not below our prefix, so that no event of it comes to either server.
    const body = JSON.stringify({ key: 'c3RyYW5nZXI=', value: '' })
    for (let i = 0; i < 5; i++) await fetch(`${url}/v3/kv/put`, { method: 'POST', body })
    const { body: list } = await call(servers[0], { path })
    const { body: other } = await call(servers[1], { path })
    t.equal(other.metadata.resourceVersion, list.metadata.resourceVersion)
    for (const watch of idle) {
      const frames = (await watch).text.trim().split('\n')
      const { type, object } = JSON.parse(frames.at(-1)!)
      t.equal(type, 'BOOKMARK')
      t.ok(
        Number(object.metadata.resourceVersion) >= Number(list.metadata.resourceVersion),
        `${object.metadata.resourceVersion} of ${list.metadata.resourceVersion}`,
      )
    }
  },
)
