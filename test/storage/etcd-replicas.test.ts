/** Two servers on one etcd, asked in turn by clients that do not know which of them answers. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { makeCacher } from '#cacher/cacher.js'
import { NodePorts, rangesPrefix } from '#kinds/core/node-ports.js'
import type { Server } from '#src/index.js'
import { openStorage } from '#storage/open.js'
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
    // Not below our prefix, so that no event of it comes to either server.
    const body = JSON.stringify({ key: 'c3RyYW5nZXI=', value: '' })
    const moveOn = async (): Promise<number> => {
      const answer = await fetch(`${url}/v3/kv/put`, { method: 'POST', body })
      const { header } = (await answer.json()) as { header: { revision: string } }
      return Number(header.revision)
    }
    /** The version of the bookmark at the end of such a watch, while which etcd is moved on; 0 without one. */
    const told = async (server: Server, seconds: number) => {
      const query = `watch=1&allowWatchBookmarks=1&timeoutSeconds=${seconds}`
      const idle = call(server, { path: `${path}?${query}` })
      let moved = 0
      for (let i = 0; i < 5; i++) moved = await moveOn()
      const listed = (await call(server, { path })).body.metadata.resourceVersion
      // Leases of the servers move it on, too.
      t.ok(Number(listed) >= moved, `a list: ${listed} of ${moved}`)
      const frames = (await idle).text.trim().split('\n')
      const { type, object } = JSON.parse(frames.at(-1) || '{}')
      return { moved, bookmark: type === 'BOOKMARK' ? Number(object.metadata.resourceVersion) : 0 }
    }
    const isTold = async (server: Server) => {
      // On a machine that stands still the bookmark is due before etcd has moved on.
      for (let seconds = 6; seconds < 60; seconds *= 2) {
        const { moved, bookmark } = await told(server, seconds)
        if (bookmark >= moved) return
      }
      t.fail('no bookmark is as far as etcd')
    }
    await Promise.all(servers.map(isTold))
  },
)

const services = '/api/v1/namespaces/default/services'
const allocation = '/registry/ranges/servicenodeports'

const post = (server: Server, name: string, spec: object) =>
  call(server, { method: 'POST', path: services, body: { metadata: { name }, spec } })

const onNodes = (nodePort?: number) => ({ type: 'NodePort', ports: [{ port: 80, nodePort }] })

t.test('no node port and no address is given out twice', { skip: !hasEtcd }, async (t) => {
  const { url } = await startEtcd(t)
  const options = { storage: `etcd:${url}`, serviceNodePortRange: '30000-30031' }
  const servers = [await startServer(t, options), await startServer(t, options)]
  const atOnce = (nodePort: number) =>
    Promise.all(
      servers.map((server, i) => post(server, `same-${nodePort}-${i}`, onNodes(nodePort))),
    )
  for (const port of [30_001, 30_002, 30_003]) {
    const answers = await atOnce(port)
    t.same(answers.map(({ status }) => status).sort(), [201, 422])
    t.match(
      answers.find(({ status }) => status === 422)!.body.message,
      /provided port is already allocated$/,
    )
  }
  const any = await Promise.all(
    Array.from({ length: 32 }, (_, i) => post(servers[i % 2]!, `any-${i}`, onNodes())),
  )
  t.equal(any.filter(({ status }) => status === 201).length, 29, 'until the range is full')
  const { items } = (await call(servers[0]!, { path: services })).body
  const ports = items.flatMap(({ spec }: (typeof any)[0]['body']) => spec.ports[0].nodePort ?? [])
  t.equal(new Set(ports).size, 32)
  t.equal(new Set(items.map(({ spec }: (typeof any)[0]['body']) => spec.clusterIP)).size, 33)

  const driver = await openStorage(`etcd:${url}`, { clock: systemClock })
  t.teardown(() => driver.close())
  const taken = async () => {
    const { range, data } = JSON.parse(String((await driver.get(allocation)).kv!.value))
    return [range, Buffer.from(data, 'base64').toString('hex')]
  }
  t.same(await taken(), ['30000-30031', 'ffffffff'], 'as kube-apiserver tells it')
  const [first, second] = items.filter(
    ({ spec }: (typeof any)[0]['body']) => spec.type === 'NodePort',
  )
  const bit = (item: typeof first): number => 1 << (item.spec.ports[0].nodePort - 30_000)
  await call(servers[0]!, { method: 'DELETE', path: `${services}/${first.metadata.name}` })
  await call(servers[1]!, {
    method: 'PATCH',
    path: `${services}/${second.metadata.name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { type: 'ClusterIP' } },
  })
  const left = (~(bit(first) | bit(second)) >>> 0).toString(16)
  t.same(await taken(), ['30000-30031', left], 'what is left is free on both')
})

t.test('node ports that a killed server left are put right', async (t) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const cacher = await makeCacher({ driver, clock: systemClock })
  t.teardown(() => cacher.close())
  const ports = new NodePorts({ first: 30_000, last: 30_015 })
  ports.share(cacher.forResource({ prefix: rangesPrefix }))
  const free = async (port: number): Promise<boolean> => {
    const isFree = await ports.take(port)
    if (isFree) await ports.release([port])
    return isFree
  }
  const used = async () => [30_001]
  t.ok(await ports.take(30_004), 'its Service is never stored')
  let disturbances = 2
  const usedWhileOthersWrite = async () => {
    if (disturbances-- > 0) t.ok(await free(30_009))
    return [30_001]
  }
  for (let look = 0; look < 2; look++) {
    await ports.repair(usedWhileOthersWrite)
    t.same([await free(30_001), await free(30_004)], [false, false])
  }
  await ports.repair(used)
  t.same([await free(30_001), await free(30_004)], [false, true])
  const other = new NodePorts({ first: 30_000, last: 30_020 })
  other.share(cacher.forResource({ prefix: rangesPrefix }))
  await t.rejects(other.take(30_005), {
    message: /the provided port range does not match the current port range$/,
  })
  await other.repair(used)
  t.ok(await other.take(30_020))
})
