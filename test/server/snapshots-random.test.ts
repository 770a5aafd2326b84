/**
 * Back to snapshots by chance, beside writers and informers: what is stored afterwards is what was stored then, each key
 * that differs was written once, under a version of its own, and nobody who watches is told anything else.
 */
import { Agent } from 'node:https'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { limits } from '#limits'
import type { Server, Snapshot } from '#src/index.js'
import type { StorageDriver, StorageEvent } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { seededRandom } from '../seeded-random.js'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { call, startServer } from './start-server.js'

// Timers of stores keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widget = definitionOf({
  group: 'random.example.com',
  scope: 'Namespaced',
  names: { plural: 'widgets', kind: 'Widget' },
  versions: [versionOf('v1', { type: 'object', properties: { spec: textsOf(['a']) } })],
})
const widgets = '/apis/random.example.com/v1/namespaces/default/widgets'

type Random = () => number
const pick = <T>(random: Random, of: readonly T[]): T => of[Math.floor(random() * of.length)]!

interface Played {
  readonly server: Server
  readonly agent: Agent
}

/** One change of one of few objects, as a client makes it; most are possible, and what is refused changes nothing. */
const act = async ({ server, agent }: Played, random: Random): Promise<void> => {
  const send = (method: string, path: string, body?: object) =>
    call(server, { method, path, agent, ...(body && { body }) })
  const name = pick(random, ['a', 'b', 'c', 'd', 'e'])
  const value = String(random())
  const finalizers = random() < 0.3 ? ['example.com/hold'] : []
  const metadata = { name, finalizers }
  const bodies: Record<string, object> = {
    '/api/v1/namespaces/default/configmaps': { metadata, data: { value } },
    '/api/v1/namespaces/default/secrets': { metadata, stringData: { value } },
    '/api/v1/namespaces': { metadata: { name: `ns-${name}` } },
    '/api/v1/namespaces/default/services': {
      metadata: { name },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    },
    [widgets]: {
      apiVersion: 'random.example.com/v1',
      kind: 'Widget',
      metadata,
      spec: { a: value },
    },
  }
  if (random() < 0.08) {
    if (random() < 0.5) await send('POST', definitions, widget)
    else await send('DELETE', `${definitions}/${widget.metadata.name}`)
    return
  }
  const path = pick(random, Object.keys(bodies))
  const object = path === '/api/v1/namespaces' ? `${path}/ns-${name}` : `${path}/${name}`
  if (random() < 0.6) {
    const { status } = await send('POST', path, bodies[path])
    if (status === 409 && !path.endsWith('services') && !path.endsWith('namespaces'))
      await send('PUT', object, bodies[path])
  } else await send('DELETE', object)
}

const ofRunningServer = /^\/registry\/(?:masterleases|leases\/kube-system\/apiserver-)/

const storedIn = async (driver: StorageDriver): Promise<Map<string, string>> => {
  const { kvs } = await driver.range({ prefix: '/registry/' })
  const kept = kvs.filter(({ key }) => !ofRunningServer.test(key))
  return new Map(kept.map(({ key, value }) => [key, value.toString('base64')]))
}

// No work of the server waits for longer than we watch for its writes, or begins again by itself.
const before = { ...limits }
t.teardown(() => Object.assign(limits, before))
const never = { definitionCleanupMsMax: limits.timerMsMax, allocationRepairMs: limits.timerMsMax }
Object.assign(limits, { retryMs: 1, ...never })

/** Until nothing is written any more: a definition goes after its objects, and its names are accepted later. */
const quiet = async (driver: StorageDriver, { server, agent }: Played): Promise<void> => {
  for (let calm = 0, head = 0; calm < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 4))
    // Writes nothing, behind all that is under way, however slow the disk.
    const { revision } = await driver.txn([], [{ type: 'delete', key: '/registry/nothing' }])
    // What a store that others share has not told the server yet moves it to nothing.
    if (driver.shared && revision !== head) await call(server, { path: definitions, agent })
    calm = revision === head ? calm + 1 : 0
    head = revision
  }
}

const eventsAfter = async (
  driver: StorageDriver,
  after: number,
  end: number,
): Promise<StorageEvent[]> => {
  const stop = new AbortController()
  const events: StorageEvent[] = []
  for await (const batch of driver.watch({ prefix: '/registry/', after, signal: stop.signal })) {
    events.push(...batch.events)
    if (batch.revision >= end) stop.abort()
  }
  return events.filter(({ key, revision }) => revision <= end && !ofRunningServer.test(key))
}

const differing = (a: Map<string, string>, b: Map<string, string>): string[] =>
  [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).sort()

const followed: ResourceRef[] = [
  resources.configMaps,
  resources.secrets,
  resources.namespaces,
  resources.services,
]

const follow = async (t: Test, server: Server) => {
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const stop = new AbortController()
  const informers = followed.map((ref) => new Informer({ client, ref, log: silentLog }))
  const running = informers.map((informer) => informer.run(stop.signal))
  t.teardown(async () => {
    stop.abort()
    await Promise.all(running)
    client.close()
  })
  await Promise.all(informers.map((informer) => informer.synced()))
  const versions = (items: readonly { metadata: Record<string, string> }[]) =>
    items.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).sort()
  return async (): Promise<void> => {
    for (const informer of informers) {
      const { items } = await client.list(informer.ref, {})
      const wanted = versions(items as never).join()
      await eventually(
        `${informer.ref.resource} of the informer are those of the server`,
        () => versions(informer.store.list() as never).join() === wanted,
      )
    }
  }
}

interface Moment {
  readonly snapshot: Snapshot
  readonly stored: Map<string, string>
}

const play = async (t: Test, driver: StorageDriver, rounds: number, seed: number) => {
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const server = await startServer(t, { storage: driver })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const played = { server, agent }
  const consistent = await follow(t, server)
  const moments: Moment[] = []
  const keep = async (): Promise<void> => {
    await quiet(driver, played)
    moments.push({ snapshot: await server.snapshot(), stored: await storedIn(driver) })
    if (moments.length > 4) moments.shift()
  }
  await keep()
  let written = 0
  for (let round = 0; round < rounds; round++) {
    for (let i = random() * 12; i > 0; i--) await act(played, random)
    if (random() < 0.3) await keep()
    const { snapshot, stored } = pick(random, moments)
    // Beside writers it only has to come to its end.
    const writing = Array.from({ length: 6 }, () => act(played, random))
    await server.restore(snapshot)
    await Promise.all(writing)
    await quiet(driver, played)
    const before = await storedIn(driver)
    const from = await driver.headRevision()
    const restored = await server.restore(snapshot)
    const events = await eventsAfter(driver, from, restored.revision)
    await quiet(driver, played)
    const after = await storedIn(driver)
    const changed = differing(before, stored)
    const wrong = differing(after, stored)
    const keys = [...new Set(events.map(({ key }) => key))].sort()
    const revisions = events.map(({ revision }) => revision)
    const isRising = revisions.every((revision, i) => i === 0 || revision > revisions[i - 1]!)
    const { created, updated, deleted } = restored
    if (wrong.length > 0) return t.same(wrong, [], `round ${round}: all is as it was`)
    if (keys.join() !== changed.join()) return t.same(keys, changed, `round ${round}: watched`)
    if (!isRising) return t.same(revisions, 'rising', `round ${round}`)
    if (created + updated + deleted !== changed.length)
      return t.same(restored, changed, `round ${round}: what was told`)
    await consistent()
    written += changed.length
  }
  t.ok(written > rounds, `${written} keys went back in ${rounds} rounds`)
}

t.test('in memory', async (t) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  await play(t, driver, 200, 1)
})

t.test('in LevelDB', async (t) => {
  const driver = await openStorage(`level:${temporaryDirectory(t)}`, { clock: systemClock })
  t.teardown(() => driver.close())
  await play(t, driver, 60, 2)
})

t.test('in etcd', { skip: !hasEtcd && 'no etcd' }, async (t) => {
  const etcd = await startEtcd(t)
  const driver = await openStorage(`etcd:${etcd.url}`, { clock: systemClock })
  t.teardown(() => driver.close())
  await play(t, driver, 30, 3)
})
