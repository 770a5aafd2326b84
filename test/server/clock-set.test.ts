/** The machine's clock is set, on or back, by a day: what lasts, lasts as long as before (Kubernetes 96259). */
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { formatMicroTime, systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { runAsLeader } from '#client/leader-election.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { runControllerManager } from '#controllers/main.js'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { startServer } from './start-server.js'

const dayMs = 86_400_000
/** Longer than the second after which servers look what is over. */
const lookMs = 1_500

const setClock = (t: Test, byMs: number): { restore(): void } => {
  const { now } = Date
  return t.intercept(Date, 'now', { value: () => now() + byMs })
}

const clientOf = async (t: Test, server: Server) => {
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  t.teardown(() => client.close())
  return client
}

/** A POST whose second half is sent when `pause` is over; yields the status of its answer. */
const slowPost = (server: Server, path: string, body: string, pause: () => Promise<unknown>) =>
  new Promise<number>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${server.adminToken}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    const options = { method: 'POST', ca: server.caPem, agent: false, headers }
    const request = https.request(`${server.url}${path}`, options, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    request.on('error', reject)
    request.write(body.slice(0, 10))
    pause().then(() => request.end(body.slice(10)), reject)
  })

t.test('requests go on, Events stay, history is kept', async (t) => {
  const server = await startServer(t, { storage: `level:${t.testdir()}/db` })
  const client = await clientOf(t, server)
  const namespace = 'default'
  const named = (name: string) => ({ metadata: { name, namespace } })
  const { metadata } = await client.create(resources.configMaps, named('first'))
  await client.create(resources.events, {
    ...named('seen'),
    eventTime: formatMicroTime(Date.now()),
    type: 'Normal',
    reason: 'Seen',
    action: 'Look',
    reportingController: 'test',
    reportingInstance: 'test-1',
    regarding: { kind: 'Pod', name: 'p', namespace },
  })
  await client.create(resources.configMaps, named('second'))
  for (const [name, byMs] of [
    ['on', dayMs],
    ['back', -dayMs],
  ] as const) {
    const body = JSON.stringify(named(name))
    const code = await slowPost(
      server,
      `/api/v1/namespaces/${namespace}/configmaps`,
      body,
      async () => {
        await sleep(200)
        const set = setClock(t, byMs)
        await sleep(lookMs)
        set.restore()
      },
    )
    t.equal(code, 201, `a request while the clock goes ${name}`)
  }
  t.equal((await client.list(resources.events, { namespace })).items.length, 1)
  const { resourceVersion } = metadata
  for await (const event of client.watch(resources.configMaps, {
    namespace,
    resourceVersion,
    timeoutSeconds: 60,
    signal: AbortSignal.timeout(120_000),
  }))
    if (event.object.metadata.name === 'second') return t.equal(event.type, 'ADDED')
  t.fail('what has happened is not told any more')
})

t.test('nobody takes a Lease that is renewed, and no node is lost', async (t) => {
  const server = await startServer(t)
  const client = await clientOf(t, server)
  const stop = new AbortController()
  const { signal } = stop
  t.teardown(() => stop.abort())
  const led: string[] = []
  const runs = ['first', 'second'].map((identity) =>
    runAsLeader({
      client,
      clock: systemClock,
      log: silentLog,
      signal,
      namespace: 'kube-system',
      name: 'one-of-two',
      identity,
      retryPeriodMs: 100,
      // Less than the clock is set by, more than a machine stands still.
      leaseDurationMs: 120_000,
      renewDeadlineMs: 90_000,
      lead: async (over) => {
        led.push(identity)
        await new Promise((resolve) => over.addEventListener('abort', resolve))
      },
    }),
  )
  const managing = runControllerManager({
    client,
    clock: systemClock,
    log: silentLog,
    signal,
    hostname: 'test',
    controllers: ['node-lifecycle-controller'],
    settings: { nodeMonitorPeriodMs: 100, nodeMonitorGracePeriodMs: 600_000 },
  })
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }]
  const at = { name: 'n' }
  await client.create(resources.nodes, { metadata: at })
  await client.patch(
    resources.nodes,
    at,
    { status: { conditions } },
    { type: 'merge', subresource: 'status' },
  )
  await eventually('a leader', () => led.length > 0)
  await sleep(1_000)
  for (const byMs of [dayMs, -dayMs, 0]) {
    const set = setClock(t, byMs)
    await sleep(500)
    set.restore()
  }
  const node = await client.get(resources.nodes, at)
  stop.abort()
  await Promise.all([...runs, managing])
  t.equal(led.length, 1, led.join(', '))
  t.match(node.status, { conditions: [{ type: 'Ready', status: 'True' }] })
  t.notMatch(node.spec, { taints: [{ effect: 'NoExecute' }] })
})
